"""The index page: a summary of the P-Chain, and a search box that opens the exact match."""

import pytest
from django.test import Client
from django.utils.html import escape

from platform_app import models
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import own_node, rows
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.conftest import SIZES
from tests.integration.platform_app.admin.paths import ADMIN, detail, listing
from tests.integration.platform_app.admin.shown import address, unspent

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("history")]

JUMP = f"{ADMIN}jump/"


def test_dashboard_shows_height_time_validators_stake_supply_and_mempool(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, past.node(3))
    tip = models.Block.objects.order_by("-height").first()
    assert tip is not None
    text = browse(ADMIN).text
    periods = [past.validator_tx(number).unsigned.validator for number in range(SIZES.validators)]
    weight = sum(item.weight for item in periods)
    first_end = min(period.end for period in periods) - past.NOW
    delegated = sum((25 + n) * past.COIN for n in range(SIZES.delegators))
    for shown in (
        f">{tip.height}</a>", str(tip.block_id), "0 s ago", "2026-09-21 14:13:20 UTC",
        f">{SIZES.validators}</a>", f"{SIZES.delegators} delegators",
        f"{(weight + delegated) // past.COIN:,} AVAX", f"{delegated // past.COIN:,} AVAX",
        "400,000,000 AVAX", "60 pending", "18,", f"in {first_end // past.DAY} d", str(past.node(3)), "validating",
    ):  # fmt: skip
        assert shown in text, shown


def test_dashboard_reports_a_non_validator_or_missing_identity(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, past.past_node(0))
    assert "not validating" in browse(ADMIN).text
    own_node.be(monkeypatch, None)
    assert browse(ADMIN).status == 200


def test_dashboard_lists_the_latest_blocks_and_transactions(browse: Browse) -> None:
    text = browse(ADMIN).text
    for block in models.Block.objects.order_by("-height")[:5]:
        assert str(block.block_id) in text
    for tx in models.Tx.objects.order_by("-id")[:8]:
        assert f'href="{detail("tx", tx.tx_id)}"' in text


def test_dashboard_works_without_validators(browse: Browse) -> None:
    models.Staker.objects.all()._raw_delete("default")
    text = browse(ADMIN).text
    assert "0 delegators" in text
    assert "0 AVAX" in text


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("2", detail("block", 2)),
        ("#2", detail("block", 2)),
        (past.transfer_tx(3).tx_id, detail("tx", past.transfer_tx(3).tx_id)),
        ("0x" + past.transfer_tx(3).tx_id.hex(), detail("tx", past.transfer_tx(3).tx_id)),
        (past.validator_tx(3).tx_id, detail("tx", past.validator_tx(3).tx_id)),
        (past.subnet_tx(3).tx_id, detail("subnet", past.subnet_tx(3).tx_id)),
        (past.blockchain_tx(3, 55).tx_id, detail("blockchain", past.blockchain_tx(3, 55).tx_id)),
        (unspent(3), detail("utxo", unspent(3))),
        (past.waiting_tx(3).tx_id, detail("mempooltx", past.waiting_tx(3).tx_id)),
        (past.dropped_id(59), detail("droppedtx", past.dropped_id(59))),
        (past.past_node(0), detail("validator", past.past_tx(0).tx_id)),
        (past.node(3), f"{listing('validator')}?q={past.node(3)}"),
        (address(past.person(3)), f"{listing('utxo')}?q={address(past.person(3))}"),
        (past.person(3), f"{listing('utxo')}?q={past.person(3)}"),
        (
            PRIMARY_NETWORK_ID,
            f"{listing('validator')}?q={PRIMARY_NETWORK_ID}&show=current",
        ),
    ],
    ids=str,
)
def test_search_box_redirects_to_the_only_match(browse: Browse, text: object, page: str) -> None:
    answer = browse(JUMP, q=str(text))
    assert answer.response.headers["Location"] == page
    assert browse(page).status == 200
    assert answer.slow_plans() == []


def test_search_box_finds_a_block_by_id(browse: Browse) -> None:
    block_id = models.Block.objects.get(height=2).block_id
    answer = browse(JUMP, q=str(block_id)).response
    assert answer.headers["Location"] == detail("block", block_id)


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("P", listing("block")),
        ("platform", listing("block")),
        ("C", "/admin/cchain_app/block/"),
        ("evm", "/admin/cchain_app/block/"),
    ],
)
def test_chain_name_redirects_to_its_blocks(browse: Browse, name: str, page: str) -> None:
    assert browse(JUMP, q=name).response.headers["Location"] == page


def test_a_height_that_both_chains_have_is_asked_about(browse: Browse) -> None:
    rows.write_chain(3)
    text = browse(JUMP, q="2").text
    assert f'href="{detail("block", 2)}"' in text
    assert 'href="/admin/cchain_app/block/2/change/"' in text


@pytest.mark.parametrize(
    "text", ["", "hello", "9" * 12, past.dropped_id(9_999), NodeID(bytes(20)), "<script>alert(1)"]
)
def test_empty_panel_is_explained(admin_client: Client, text: object) -> None:
    answer = admin_client.get(JUMP, {"q": str(text)}, follow=True)
    assert answer.redirect_chain == [(ADMIN, 302)]
    assert f"Nothing found for: {escape(str(text))}" in answer.content.decode()
