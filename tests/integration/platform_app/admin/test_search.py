"""List search finds rows with exactly this identifier, address, height or name, in any notation."""

import pytest
from django.utils.html import escape

from platform_app import models
from primitives.addresses import format_address
from primitives.ids import PRIMARY_NETWORK_ID, ShortID
from shared_app import models as shared_models
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.conftest import SIZES
from tests.integration.platform_app.admin.paths import MODELS, listing
from tests.integration.platform_app.admin.shown import address, exported, unspent

pytestmark = pytest.mark.usefixtures("history")


def _found(browse: Browse, model: str, text: object, **choice: str) -> list[object]:
    page = browse(listing(model), q=str(text), **choice)
    assert page.status == 200
    return [row.pk for row in page.rows]


def _written(owner: ShortID) -> list[str]:
    return [
        address(owner),
        address(owner).upper().replace("P-", "P-"),
        address(owner).removeprefix("P-"),
        format_address("X", "avax", owner),
        format_address("C", "custom", owner),
        format_address(str(PRIMARY_NETWORK_ID), "fuji", owner),
        str(owner),
        "0x" + owner.hex(),
        owner.hex().upper(),
        f"  {owner} ",
    ]


@pytest.mark.parametrize("way", range(10))
def test_an_owner_is_found_however_the_address_is_written(browse: Browse, way: int) -> None:
    written = _written(past.person(301))[way]
    transfer = past.transfer_tx(3)
    models.UTXOOwner.objects.filter(utxo_id=unspent(3)).delete()
    models.UTXOOwner.objects.create(address=past.person(301), utxo_id=unspent(3))
    assert _found(browse, "utxo", written) == [unspent(3)]
    assert transfer.tx_id


def test_every_owner_of_an_output_finds_it(browse: Browse) -> None:
    paid = models.RewardUTXO.objects.get(tx_id=past.past_tx(5).tx_id).utxo_id
    for number in (5, 6, 7):
        assert paid in _found(browse, "utxo", address(past.person(number)))


def test_outputs_of_an_address_are_paged_in_order(browse: Browse) -> None:
    page = browse(listing("utxo"), q=address(past.person(0)))
    rest = browse(listing("utxo") + page.response.context["cl"].next_url)
    back = browse(listing("utxo") + rest.response.context["cl"].previous_url)
    found = [row.pk for row in (*page.rows, *rest.rows)]
    owned = models.UTXOOwner.objects.filter(address=past.person(0)).order_by("utxo_id")
    assert found == list(owned.values_list("utxo_id", flat=True))
    assert [row.pk for row in back.rows] == [row.pk for row in page.rows]


def test_outputs_are_found_by_the_transaction_that_made_them(browse: Browse) -> None:
    made = _found(browse, "utxo", past.transfer_tx(3).tx_id)
    assert made == sorted([unspent(3, 0), unspent(3, 1)])
    paid = models.RewardUTXO.objects.get(tx_id=past.past_tx(4).tx_id).utxo_id
    assert _found(browse, "utxo", past.past_tx(4).tx_id) == [paid]
    assert _found(browse, "utxo", unspent(3)) == [unspent(3)]


@pytest.mark.parametrize("text", [address(past.person(3)), exported(3), past.export_tx(3).tx_id])
def test_shared_outputs_are_found(browse: Browse, text: object) -> None:
    assert exported(3) in _found(browse, "sharedoutput", text)


def test_imported_outputs_are_found_by_owner(browse: Browse) -> None:
    incoming = shared_models.SharedOutput.objects.filter(destination_chain=PRIMARY_NETWORK_ID)
    key = incoming.get(output_index=4).pk
    assert key in _found(browse, "sharedoutput", address(past.person(4)))


def test_a_block_is_found_by_height_id_and_transaction(browse: Browse) -> None:
    block = models.Block.objects.get(height=2)
    tx_id = models.Tx.objects.get(height=2, index=7).tx_id
    for text in ("2", "#2", block.block_id, "0x" + block.block_id.hex(), tx_id):
        assert _found(browse, "block", text) == [2]


def test_transactions_are_found_by_id_and_block(browse: Browse) -> None:
    block = models.Block.objects.get(height=2)
    expected = list(models.Tx.objects.filter(height=2).order_by("-id").values_list("pk", flat=True))
    for text in ("2", block.block_id):
        assert _found(browse, "tx", text) == expected[:50]
    transfer = models.Tx.objects.get(tx_id=past.transfer_tx(3).tx_id)
    assert _found(browse, "tx", transfer.tx_id) == [transfer.pk]
    assert _found(browse, "tx", transfer.tx_id, show="rewards") == []


def test_validators_are_found_by_node_transaction_and_subnet(browse: Browse) -> None:
    member, validator = (
        past.subnet_validator_tx(3, SIZES.subnets).tx_id,
        past.validator_tx(3).tx_id,
    )
    node = past.node(3)
    assert _found(browse, "validator", node) == [member, validator]
    assert _found(browse, "validator", "0x" + node.hex()) == [member, validator]
    assert _found(browse, "validator", validator) == [validator]
    assert _found(browse, "validator", past.subnet_tx(3).tx_id) == [member]


def test_delegators_are_found_by_node(browse: Browse) -> None:
    expected = {past.delegator_tx(number, SIZES.validators).tx_id for number in (3, 63)}
    assert set(_found(browse, "delegator", past.node(3), show="current")) == expected


def test_subnets_are_found_by_id_and_control_key(browse: Browse) -> None:
    assert _found(browse, "subnet", past.subnet_tx(3).tx_id) == [past.subnet_tx(3).tx_id]
    # Users with several keys are number 5 (keys 5, 6, 7) and so on.
    expected = [past.subnet_tx(number).tx_id for number in (6, 5)]
    assert _found(browse, "subnet", address(past.person(6))) == expected


def test_blockchains_are_found_by_id_and_subnet(browse: Browse) -> None:
    chain = past.blockchain_tx(3, SIZES.subnets).tx_id
    latest = past.blockchain_tx(3 + SIZES.subnets, SIZES.subnets).tx_id
    assert _found(browse, "blockchain", chain) == [chain]
    assert _found(browse, "blockchain", past.subnet_tx(3).tx_id) == [latest, chain]


def test_pending_transactions_are_found_by_id_and_by_spent_output(browse: Browse) -> None:
    waiting = models.MempoolTx.objects.get(tx_id=past.waiting_tx(3).tx_id)
    spent = past.platform.utxo(1, number=1_003).utxo_id
    assert _found(browse, "mempooltx", waiting.tx_id) == [waiting.pk]
    assert _found(browse, "mempooltx", spent) == [waiting.pk]


def test_keystore_users_are_found_by_their_whole_name(browse: Browse) -> None:
    user = models.KeystoreUser.objects.get(name="user 003 <b>")
    assert _found(browse, "keystoreuser", "user 003 <b>") == [user.pk]
    for text in ("user 003", "USER 003 <B>", "%"):
        assert _found(browse, "keystoreuser", text) == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "text",
    [
        "nothing", "0x", "%", "_", "'", "9" * 19, "9" * 60, "ab" * 32, "12" * 20, "é", "P-", "-",
        "NodeID-", "NodeID-111", "1" * 500, "P-local1qqqqqqqq", "x" * 5_000,
    ],
)  # fmt: skip
def test_search_without_match_is_an_empty_list(browse: Browse, model: str, text: str) -> None:
    page = browse(listing(model), q=text)
    assert (page.status, page.rows) == (200, [])
    assert f"Nothing found for “{escape(text)}”." in page.text


@pytest.mark.parametrize("model", MODELS)
def test_null_byte_is_refused_with_a_message(browse: Browse, model: str) -> None:
    page = browse(listing(model), q="7\x00")
    assert page.status == 200
    assert "Null characters are not allowed." in page.text
