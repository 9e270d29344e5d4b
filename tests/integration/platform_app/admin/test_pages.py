"""The content of the pages of blocks, transactions, subnets, blockchains, outputs and the mempool."""

import pytest
from django.utils.html import escape

from platform_app import models
from platform_app.txs.codec import CODEC
from primitives.ids import PRIMARY_NETWORK_ID
from shared_app import models as shared_models
from tests.builders import platform, platform_rows
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.conftest import SIZES
from tests.integration.platform_app.admin.paths import detail, listing
from tests.integration.platform_app.admin.shown import address, exported, keys, unspent
from utxo.components import OutputOwners

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("history")]

REWARD = models.Tx.objects.filter(kind=models.TxKind.REWARD_VALIDATOR)


def _leads_to(text: str, path: str) -> bool:
    return f'href="{escape(path)}"' in text


def test_block_page_links_to_neighbours_and_transactions(browse: Browse) -> None:
    block = models.Block.objects.get(height=2)
    text = browse(detail("block", 2)).text
    for path in (detail("block", 1), detail("block", 3), f"{listing('tx')}?q=2"):
        assert _leads_to(text, path), path
    for tx_id in models.Tx.objects.filter(height=2, index__lt=50).values_list("tx_id", flat=True):
        assert _leads_to(text, detail("tx", tx_id))
    assert str(block.block_id) in text
    assert str(block.parent_id) in text
    assert f"{len(block.raw):,} bytes" in text


def test_tip_has_no_next_and_genesis_no_previous_link(browse: Browse) -> None:
    tip = models.Block.objects.order_by("-height").first()
    assert tip is not None
    assert "next ›" not in browse(detail("block", tip.height)).text
    genesis = browse(detail("block", 0)).text
    assert "previous" not in genesis
    assert "the genesis bytes" in genesis


def test_a_proposal_and_its_option_are_shown_as_such(browse: Browse) -> None:
    height = REWARD.filter(status=models.Tx.ABORTED).latest("id").height
    assert ">Proposal</span>" in browse(detail("block", height)).text
    assert ">Abort</span>" in browse(detail("block", height + 1)).text


def test_a_block_is_decoded_with_links_to_its_transactions(browse: Browse) -> None:
    text = browse(detail("block", 2)).text
    first = models.Tx.objects.get(height=2, index=0).tx_id
    assert f'<span class="nd-key">&quot;id&quot;</span>: <a href="{detail("tx", first)}">' in text
    parent = models.Block.objects.get(height=1).block_id
    assert f'&quot;parentID&quot;</span>: <a href="{detail("block", parent)}">' in text


def test_block_page_is_found_by_id(browse: Browse) -> None:
    block_id = models.Block.objects.get(height=2).block_id
    for text in (str(block_id), "0x" + block_id.hex()):
        assert f"{listing('tx')}?q=2" in browse(detail("block", text)).text


def test_transfer_page_shows_inputs_and_outputs(browse: Browse) -> None:
    text = browse(detail("tx", past.transfer_tx(3).tx_id)).text
    assert _leads_to(text, detail("utxo", unspent(3)))
    assert _leads_to(text, f"{listing('utxo')}?q={address(past.person(3))}")
    for shown in ("BaseTx", "Committed", "1 AVAX", "unspent ›", "nd-json"):
        assert shown in text


def test_spent_output_is_marked(browse: Browse) -> None:
    models.UTXO.objects.filter(pk=unspent(3))._raw_delete("default")
    text = browse(detail("tx", past.transfer_tx(3).tx_id)).text
    assert not _leads_to(text, detail("utxo", unspent(3)))
    assert ">spent</span>" in text


def test_export_page_shows_unimported_outputs(browse: Browse) -> None:
    path = detail("tx", past.export_tx(3).tx_id)
    assert _leads_to(browse(path).text, detail("sharedoutput", exported(3)))
    shared_models.SharedOutput.objects.filter(pk=exported(3))._raw_delete("default")
    assert ">imported</span>" in browse(path).text


def test_staking_transaction_links_to_its_staker(browse: Browse) -> None:
    for model, tx_id in (
        ("validator", past.validator_tx(3).tx_id),
        ("delegator", past.delegator_tx(3, SIZES.validators).tx_id),
    ):
        text = browse(detail("tx", tx_id)).text
        assert _leads_to(text, detail(model, tx_id))
        assert ">staked</span>" in text


def test_reward_transaction_links_to_staker_and_transaction(browse: Browse) -> None:
    tx = REWARD.filter(status=models.Tx.COMMITTED).latest("id")
    text = browse(detail("tx", tx.tx_id)).text
    rewarded = past.past_tx(SIZES.past - 2).tx_id
    assert _leads_to(text, detail("delegator", rewarded))
    assert _leads_to(text, detail("tx", rewarded))


def test_creations_link_to_created_objects(browse: Browse) -> None:
    subnet, chain = past.subnet_tx(3).tx_id, past.blockchain_tx(3, SIZES.subnets).tx_id
    assert _leads_to(browse(detail("tx", subnet)).text, detail("subnet", subnet))
    text = browse(detail("tx", chain)).text
    assert _leads_to(text, detail("blockchain", chain))
    assert _leads_to(text, detail("subnet", subnet))


def test_a_long_text_within_is_cut(browse: Browse) -> None:
    made = platform.signed(past.subnets.CreateChainTx, genesis_data=bytes(9_000))
    models.Tx.objects.filter(tx_id=past.transfer_tx(3).tx_id).update(raw=made.raw)
    text = browse(detail("tx", past.transfer_tx(3).tx_id)).text
    assert "… 12,000 characters" in text
    assert "A" * 500 not in text


def test_bytes_that_this_node_cannot_read_are_still_shown(browse: Browse) -> None:
    models.Tx.objects.filter(tx_id=past.transfer_tx(3).tx_id).update(raw=b"\x00\x00\xff")
    models.Block.objects.filter(height=2).update(raw=b"\x00\x00\xff")
    text = browse(detail("tx", past.transfer_tx(3).tx_id)).text
    assert "This node cannot parse these bytes as a transaction." in text
    assert "0x0000ff" in text
    assert "This node cannot parse these bytes as a block." in browse(detail("block", 2)).text


def test_a_subnet_shows_its_control_keys_validators_and_blockchains(browse: Browse) -> None:
    subnet = past.subnet_tx(5).tx_id
    text = browse(detail("subnet", subnet)).text
    assert "2 of 3 must sign" in text
    for number in (5, 6, 7):
        assert _leads_to(text, f"{listing('utxo')}?q={address(past.person(number))}")
    assert str(past.node(5)) in text
    for path in (
        detail("validator", past.subnet_validator_tx(5, SIZES.subnets).tx_id),
        detail("blockchain", past.blockchain_tx(5, SIZES.subnets).tx_id),
        f"{listing('validator')}?q={subnet}",
        detail("tx", subnet),
    ):
        assert _leads_to(text, path), path


def test_subnet_page_shows_its_new_owner(browse: Browse) -> None:
    subnet = past.subnet_tx(5).tx_id
    owner = OutputOwners(past.NOW, 1, (past.person(999),))
    models.Subnet.objects.filter(pk=subnet).update(
        owner=CODEC.pack(owner), locktime=owner.locktime, threshold=1
    )
    text = browse(detail("subnet", subnet)).text
    assert "1 of 1 must sign" in text
    assert address(past.person(999)) in text
    assert "2026-09-21 14:13:20 UTC" in text


def test_a_name_of_a_blockchain_is_only_text(browse: Browse) -> None:
    chain = past.blockchain_tx(5, SIZES.subnets).tx_id
    models.Blockchain.objects.filter(pk=chain).update(name="<script>alert(1)</script>")
    for path in (
        listing("blockchain"),
        listing("subnet"),
        detail("blockchain", chain),
        detail("subnet", past.subnet_tx(5).tx_id),
    ):
        assert "<script>alert" not in browse(path).text
    assert "&lt;script&gt;alert" in browse(detail("blockchain", chain)).text


def test_a_blockchain_shows_its_vm_by_name(browse: Browse) -> None:
    text = browse(detail("blockchain", keys()["blockchain"])).text
    for shown in (">evm</span>", ">secp256k1fx</span>", "7 bytes", "Chain &lt;3&gt;"):
        assert shown in text


def test_a_list_names_three_blockchains_of_a_subnet(browse: Browse) -> None:
    subnet = past.subnet_tx(SIZES.subnets - 1).tx_id
    for number in range(4):
        models.Blockchain.objects.create(
            blockchain_id=past.dropped_id(number), position=10**15 + number, subnet_id=subnet,
            name=f"fourfold {number}", vm_id=PRIMARY_NETWORK_ID, fx_ids=b"", genesis_size=0,
        )  # fmt: skip
    text = browse(listing("subnet")).text
    assert "fourfold 1" in text
    assert "fourfold 2" not in text
    assert "and more" in text


def test_an_output_shows_owners_locks_and_origin(browse: Browse) -> None:
    text = browse(detail("utxo", unspent(7))).text
    for shown in (
        "only for staking until", "2026-09-22 14:13:20 UTC", "2 AVAX", "staking asset",
        address(past.person(7)), "output 0",
    ):  # fmt: skip
        assert shown in text
    assert _leads_to(text, detail("tx", past.transfer_tx(7).tx_id))


def test_genesis_output_links_to_no_transaction(browse: Browse) -> None:
    text = browse(detail("utxo", past.GENESIS_UTXO.utxo_id)).text
    assert str(past.GENESIS_UTXO.tx_id) in text
    assert not _leads_to(text, detail("tx", past.GENESIS_UTXO.tx_id))


def test_an_output_of_another_asset_is_not_called_coins(browse: Browse) -> None:
    other = platform.utxo(1_500_000, number=77, asset_id=platform.OTHER_ASSET_ID)
    platform_rows.accept(platform_rows.producing(other))
    text = browse(detail("utxo", other.utxo_id)).text
    assert "1,500,000" in text
    assert "other asset" in text
    assert "1.5 AVAX" not in text


def test_exported_output_shows_source_and_destination(browse: Browse) -> None:
    text = browse(detail("sharedoutput", exported(3))).text
    assert text.index(">P-Chain</span>") < text.index(">C-Chain</span>")
    assert "4 AVAX" in text


def test_pending_transaction_page_shows_its_effects(browse: Browse) -> None:
    text = browse(detail("mempooltx", past.waiting_tx(3).tx_id)).text
    for shown in ("output 1003", "1 AVAX", ">transfer</span>", "308 bytes"):
        assert shown in text


def test_a_dropped_transaction_shows_the_reason_as_text(browse: Browse) -> None:
    text = browse(detail("droppedtx", past.dropped_id(59))).text
    assert "reason 59 &lt;b&gt;" in text
    assert "2026-09-21 14:13:20 UTC" in text


@pytest.mark.parametrize("model", ["tx", "subnet", "utxo", "mempooltx", "validator"])
@pytest.mark.parametrize("key", ["nothing", "0x12", "1" * 60, str(PRIMARY_NETWORK_ID), "é"])
def test_missing_object_redirects_to_its_list(browse: Browse, model: str, key: str) -> None:
    page = browse(detail(model, key))
    assert (page.status, page.response.headers["Location"]) == (302, listing(model))


def test_a_title_keeps_the_letters_of_an_identifier(browse: Browse) -> None:
    for number in range(SIZES.transfers):
        tx_id = str(past.transfer_tx(number).tx_id)
        if tx_id[0].islower():
            assert f">{tx_id}</a>" in browse(detail("tx", tx_id)).text
            return
    pytest.fail("no identifier begins with a small letter")
