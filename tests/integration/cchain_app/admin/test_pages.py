"""Content and links of the pages of a block, transaction, log, account and pending transaction."""

import html
import re

import pytest
from django.urls import reverse

from cchain_app import models
from cchain_app.txs.transaction import SET_CODE, Authorization
from primitives.evm import ZERO_HASH, Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders import rows
from tests.builders.blobs import blob_transaction
from tests.builders.transactions import signed
from tests.integration.cchain_app.admin.conftest import BLOCKS, Browse
from tests.integration.cchain_app.admin.paths import detail, hexed, listing

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("chain")]


def _leads_to(text: str, path: str) -> bool:
    return f'href="{path}"' in text


def test_block_page_links_to_neighbours_transactions_logs_and_miner(browse: Browse) -> None:
    text = browse(detail("block", 7)).text
    for path in (
        reverse("admin:cchain_app_block_change", args=[6]),
        reverse("admin:cchain_app_block_change", args=[8]),
        listing("transaction") + "?q=7",
        listing("log") + "?q=7",
        reverse("admin:cchain_app_account_change", args=[hexed(rows.COINBASE)]),
    ):
        assert _leads_to(text, path)
    for shown in (
        hexed(rows.block_hash(7)),
        hexed(rows.block_hash(6)),
        "2026-09-21 14:13:34 UTC",
        "8 %",
    ):
        assert shown in text


def test_head_has_no_next_and_genesis_no_previous_link(browse: Browse) -> None:
    assert "next ›" not in browse(detail("block", BLOCKS)).text
    genesis = browse(detail("block", 0)).text
    assert "previous" not in genesis
    assert "next ›" in genesis


def test_transaction_page_shows_receipt_and_links(browse: Browse) -> None:
    page = browse(detail("transaction", models.row_id(7, 4)))
    for path in (
        reverse("admin:cchain_app_block_change", args=[7]),
        reverse("admin:cchain_app_account_change", args=[hexed(rows.sender_of(7, 4))]),
        reverse("admin:cchain_app_account_change", args=[hexed(rows.TOKEN)]),
        reverse("admin:cchain_app_log_change", args=[models.row_id(7, 1)]),
        listing("log") + f"?q={hexed(rows.transaction_hash(7, 4))}",
    ):
        assert _leads_to(page.text, path)
    for shown in (
        "success", "56 %", "0.500000000000012345 AVAX", "3 Gwei", "dynamic fee (2)",
        "transfer(address,uint256)", "0xa9059cbb", hexed(rows.CALL), "68 bytes", "Transfer",
    ):  # fmt: skip
        assert shown in page.text


def test_failed_transaction_is_shown_as_failed(browse: Browse) -> None:
    assert "failed" in browse(detail("transaction", models.row_id(7, rows.FAILED))).text


def test_creation_links_to_its_contract_without_function_name(browse: Browse) -> None:
    text = browse(detail("transaction", models.row_id(7, rows.CREATION))).text
    assert "new contract" in text
    assert checksum_address(rows.contract(7)) in text
    assert "60806040</span>" not in text


def test_an_access_list_and_authorizations_are_shown(browse: Browse) -> None:
    delegate = Address(b"\x33" * 20)
    raw = signed(
        type=SET_CODE,
        access_list=((Address(b"\x44" * 20), ()),),
        authorizations=(Authorization(1, delegate, 9, 0, 1, 1),),
    ).raw
    models.Transaction.objects.filter(pk=models.row_id(7, 0)).update(raw=raw, type=SET_CODE)
    text = browse(detail("transaction", models.row_id(7, 0))).text
    assert "set code (4)" in text
    for address in (delegate, b"\x44" * 20):
        assert _leads_to(text, reverse("admin:cchain_app_account_change", args=[hexed(address)]))


def test_the_versioned_hashes_of_blobs_are_shown(browse: Browse) -> None:
    raw = blob_transaction(2).raw
    models.Transaction.objects.filter(pk=models.row_id(7, 0)).update(raw=raw, type=3)
    text = browse(detail("transaction", models.row_id(7, 0))).text
    assert "blob (3)" in text
    assert text.count(hexed(blob_transaction().blob_hashes[0])) >= 2
    assert text.count("1,000,000,000 wei") == 2


def test_an_envelope_that_this_node_cannot_read_is_still_shown(browse: Browse) -> None:
    models.Transaction.objects.filter(pk=models.row_id(7, 0)).update(raw=b"\x03\xc0", type=3)
    page = browse(detail("transaction", models.row_id(7, 0)))
    assert page.status == 200
    assert "blob (3)" in page.text
    assert "0x03c0" in page.text


def test_input_is_cut_where_it_is_very_long(browse: Browse) -> None:
    raw = signed(data=bytes(20_000), gas=10**7).raw
    models.Transaction.objects.filter(pk=models.row_id(7, 0)).update(raw=raw)
    assert "… and 3,616 bytes more" in browse(detail("transaction", models.row_id(7, 0))).text


def test_a_log_shows_its_topics_and_the_addresses_in_them(browse: Browse) -> None:
    text = browse(detail("log", models.row_id(7, 1))).text
    for shown in (
        "Transfer(address,address,uint256)",
        hexed(rows.TRANSFER),
        hexed(bytes(12) + rows.sender_of(7, 4)),
        checksum_address(rows.sender_of(7, 4)),
        hexed((7 * rows.COIN).to_bytes(32, "big")),
        hexed(rows.transaction_hash(7, 4)),
    ):
        assert shown in text


def test_logs_of_unknown_events_and_without_topics_are_shown(browse: Browse) -> None:
    assert "unknown" in browse(detail("log", models.row_id(7, 3))).text
    models.Log.objects.filter(pk=models.row_id(7, 3)).update(topic0=None)
    assert browse(detail("log", models.row_id(7, 3))).status == 200
    assert "anonymous" in browse(listing("log"), q="7").text


def test_account_page_links_to_transactions_logs_and_changes(browse: Browse) -> None:
    person = hexed(rows.person(5))
    text = browse(detail("account", person)).text
    for model in ("transaction", "log", "accountchange"):
        assert _leads_to(text, listing(model) + f"?q={person}")
    assert "1,000.000000000000000005 AVAX" in text
    assert "Code hash" not in text


def test_contract_page_shows_code_storage_and_creator(browse: Browse) -> None:
    for model in ("account", "contract"):
        text = browse(detail(model, hexed(rows.TOKEN))).text
        for shown in (
            hexed(rows.CODE_HASH), hexed(rows.CODE), "640 bytes", "The first 50 slots.",
            hexed(rows.transaction_hash(1, rows.CREATION)),
        ):  # fmt: skip
            assert shown in text


def test_an_account_that_delegates_shows_to_whom(browse: Browse) -> None:
    code = bytes.fromhex("ef0100") + rows.TOKEN
    models.Code.objects.create(hash=keccak256(code), code=code)
    models.Account.objects.filter(pk=rows.person(5)).update(code_hash=keccak256(code))
    assert checksum_address(rows.TOKEN) in browse(detail("account", hexed(rows.person(5)))).text


def test_an_address_that_the_chain_never_touched_is_an_account_with_nothing(browse: Browse) -> None:
    page = browse(detail("account", "0x" + "12" * 20))
    assert page.status == 200
    assert checksum_address(Address(b"\x12" * 20)) in page.text


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("account", "0x12"),
        ("account", "nobody"),
        ("block", 10**30),
        ("block", "0x" + "12" * 32),
        ("transaction", "x"),
        ("contract", "zz"),
        ("pooltransaction", 0),
    ],
)
def test_missing_object_redirects_to_its_list(browse: Browse, model: str, key: object) -> None:
    page = browse(detail(model, key))
    assert (page.status, page.response.headers["Location"]) == (302, listing(model))


def test_account_change_shows_the_previous_values(browse: Browse) -> None:
    assert "7 AVAX" in browse(detail("accountchange", models.row_id(7, 1))).text
    models.AccountChange.objects.filter(pk=models.row_id(7, 1)).update(
        nonce=None, balance=None, code_hash=None
    )
    assert "did not exist" in browse(detail("accountchange", models.row_id(7, 1))).text


def test_pending_transaction_shows_call_and_maximum_cost(browse: Browse) -> None:
    text = browse(detail("pooltransaction", hexed(rows.waiting_hash(3)))).text
    for shown in (
        "transfer(address,uint256)",
        checksum_address(rows.TOKEN),
        "1.0045 AVAX",
        "50 Gwei",
    ):
        assert shown in text


def test_lists_shorten_hashes_and_keep_the_whole_in_title_and_button(browse: Browse) -> None:
    text = browse(listing("transaction"), q="7").text
    whole = checksum_address(rows.sender_of(7, 4))
    assert f'title="{whole}">{whole[:8]}…{whole[-4:]}</a>' in text
    assert f'data-copy="{whole}"' in text
    assert whole.lower() not in {*re.findall(r'title="([^"]+)"', text)}


@pytest.mark.parametrize("model", ["account", "contract", "log", "call", "pooltransaction"])
def test_lists_and_titles_have_addresses_in_the_case_of_eip_55(browse: Browse, model: str) -> None:
    listed = browse(listing(model)).text
    key = re.search(rf'href="(/admin/cchain_app/{model}/[^"/]+/change/)', listed)
    assert key is not None
    for text in (listed, browse(key[1]).text):
        shown = html.unescape(re.sub(r'href="[^"]*"|value="[^"]*"', "", text))
        addresses = {*re.findall(r"\b0x[0-9a-fA-F]{40}\b", shown)}
        assert addresses == {checksum_address(Address(bytes.fromhex(a[2:]))) for a in addresses}


def test_unknown_hash_redirects_to_the_list(browse: Browse) -> None:
    assert browse(detail("transaction", hexed(ZERO_HASH))).status == 302
