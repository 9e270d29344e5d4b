"""List search finds rows with exactly this number, hash or address, in any notation."""

import pytest
from django.utils.html import escape

from cchain_app import models
from tests.builders import rows
from tests.integration.cchain_app.admin.conftest import BLOCKS, Browse
from tests.integration.cchain_app.admin.paths import MODELS, hexed, listing

pytestmark = pytest.mark.usefixtures("chain")

TX = models.row_id(7, 4)


def _found(browse: Browse, model: str, text: str) -> list[object]:
    return [row.pk for row in browse(listing(model), q=text).rows]


def _written(value: bytes) -> list[str]:
    plain = value.hex()
    return [plain, plain.upper(), f"0x{plain}", f"0X{plain.upper()}", f"  0x{plain.title()} "]


@pytest.mark.parametrize("way", range(5))
def test_letter_case_prefix_and_spaces_do_not_matter(browse: Browse, way: int) -> None:
    assert _found(browse, "block", _written(rows.block_hash(7))[way]) == [7]
    assert _found(browse, "account", _written(rows.TOKEN)[way]) == [rows.TOKEN]


@pytest.mark.parametrize("text", ["7", "#7", "0x7", " 7"])
def test_a_block_is_found_by_its_number(browse: Browse, text: str) -> None:
    assert _found(browse, "block", text) == [7]


def test_a_block_is_found_by_a_transaction_in_it(browse: Browse) -> None:
    assert _found(browse, "block", hexed(rows.transaction_hash(7, 4))) == [7]


def test_a_transaction_is_found_by_its_hash(browse: Browse) -> None:
    assert _found(browse, "transaction", hexed(rows.transaction_hash(7, 4))) == [TX]


@pytest.mark.parametrize("text", ["7", hexed(rows.block_hash(7))])
def test_transactions_are_found_by_their_block(browse: Browse, text: str) -> None:
    assert _found(browse, "transaction", text) == [
        models.row_id(7, place) for place in range(9, -1, -1)
    ]


def test_transactions_are_found_by_sender_recipient_and_created_contract(browse: Browse) -> None:
    sent = _found(browse, "transaction", hexed(rows.sender_of(BLOCKS, 0)))
    assert models.row_id(BLOCKS, 0) in sent
    assert _found(browse, "transaction", hexed(rows.contract(9))) == [
        models.row_id(9, rows.CREATION)
    ]
    assert len(_found(browse, "transaction", hexed(rows.TOKEN))) == 50


@pytest.mark.parametrize("text", ["7", hexed(rows.block_hash(7))])
def test_logs_are_found_by_their_block(browse: Browse, text: str) -> None:
    assert _found(browse, "log", text) == [models.row_id(7, index) for index in (3, 2, 1, 0)]


def test_logs_are_found_by_their_transaction(browse: Browse) -> None:
    assert _found(browse, "log", hexed(rows.transaction_hash(7, 4))) == [models.row_id(7, 1)]
    assert _found(browse, "log", hexed(rows.transaction_hash(7, 0))) == []


def test_logs_are_found_by_their_first_topic(browse: Browse) -> None:
    found = browse(listing("log"), q=hexed(rows.UNKNOWN_EVENT)).rows
    assert [log.topic0 for log in found] == [rows.UNKNOWN_EVENT] * 50


def test_an_anonymous_log_is_found_by_its_contract(browse: Browse) -> None:
    models.Log.objects.filter(pk=models.row_id(9, 0)).update(topic0=None, address=rows.contract(9))
    assert _found(browse, "log", hexed(rows.contract(9))) == [models.row_id(9, 0)]


def test_changes_are_found_by_block(browse: Browse) -> None:
    expected = [models.row_id(7, 1), models.row_id(7, 0)]
    assert _found(browse, "accountchange", "7") == expected
    assert _found(browse, "accountchange", hexed(rows.block_hash(7))) == expected


def test_contracts_are_accounts_with_code(browse: Browse) -> None:
    assert _found(browse, "contract", hexed(rows.TOKEN)) == [rows.TOKEN]
    assert _found(browse, "contract", hexed(rows.person(1))) == []


def test_waiting_transactions_are_found_by_hash_and_sender(browse: Browse) -> None:
    expected = list(
        models.PoolTransaction.objects.filter(sender=rows.person(3)).values_list("pk", flat=True)
    )
    assert _found(browse, "pooltransaction", hexed(rows.person(3))) == expected
    assert _found(browse, "pooltransaction", hexed(rows.waiting_hash(3))) == expected


def test_forked_rows_are_found_by_account_and_number(browse: Browse) -> None:
    assert _found(browse, "forkedaccount", hexed(rows.TOKEN)) == [rows.TOKEN]
    assert len(browse(listing("forkedslot"), q=hexed(rows.TOKEN)).rows) == 50
    assert _found(browse, "forkedslot", hexed(rows.person(1))) == []
    assert _found(browse, "forkedhash", "#7") == [7]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "0x",
        "%",
        "_",
        "'",
        "9" * 19,
        "9" * 30,
        "0x" + "f" * 63,
        "ab" * 32,
        "12" * 20,
        "é",
    ],
)
def test_search_without_match_is_an_empty_list(browse: Browse, model: str, text: str) -> None:
    page = browse(listing(model), q=text)
    assert (page.status, page.rows) == (200, [])
    assert f"Nothing found for “{escape(text)}”." in page.text


def test_null_byte_is_refused_with_a_message(browse: Browse) -> None:
    page = browse(listing("block"), q="7\x00")
    assert page.status == 200
    assert "Null characters are not allowed." in page.text
