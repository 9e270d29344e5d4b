"""Outputs, subnets and assets with many owners: pages show and format the first ones only."""

import pytest
from django.test import Client

from explorer_app.selectors import xchain
from nodeproject.apps import this_node
from platform_app.config import UNIT
from platform_app.txs.base import BaseTx
from platform_app.txs.subnets import CreateSubnetTx
from primitives.ids import ID, ShortID
from primitives.keys import EWOQ_KEY
from tests.integration.explorer_app.x_history import EWOQ, OTHER, x_history
from tests.integration.platform_app.conftest import PChain, nothing_remembered
from utxo.components import OutputOwners, TransferableOutput, TransferOutput
from xchain_app.models import XOutput
from xchain_app.selectors import outputs
from xchain_app.services import mempool, wallet
from xchain_app.wallet.transactions import AssetNames

__all__ = ["nothing_remembered"]

MANY = OutputOwners(0, 2, tuple(ShortID(bytes([number]) * 20) for number in range(1, 13)))


def right_to_mint(pchain: PChain) -> ID:
    """Create an asset that twelve addresses may mint."""
    node = this_node()
    own = wallet.own_wallet(node.avm_chain, [EWOQ_KEY], now=pchain.now)
    made = own.create_asset(AssetNames("Many", "MNY", 0), [(3, EWOQ)], [MANY])
    tx_id = mempool.issue_tx(node.avm_chain, made, now=pchain.now)
    assert node.avm_runtime.consensus.produce(now=pchain.now) is not None
    return tx_id


def test_pages_of_the_x_chain_show_the_first_owners(pchain: PChain, client: Client) -> None:
    asset_id = right_to_mint(pchain)

    for page in (f"/x/tx/{asset_id}", f"/x/asset/{asset_id}"):
        text = client.get(page).text
        shown = [this_node().avm_chain.address(owner) in text for owner in MANY.addresses]
        assert shown[:10] == [True] * 10
        if "/asset/" in page:  # the other page has all of them in the transaction's JSON
            assert shown[10:] == [False] * 2
        assert "and 2 more" in text
        assert "2 of 12 signatures required" in text


def test_pages_of_the_p_chain_show_the_first_owners(pchain: PChain, client: Client) -> None:
    output = TransferableOutput(pchain.network.asset_id, TransferOutput(UNIT, MANY))
    paid = pchain.do(pchain.make(BaseTx, output)).tx_id
    subnet_id = pchain.do(pchain.make(CreateSubnetTx, owner=MANY, burn=UNIT)).tx_id

    text = client.get(f"/p/tx/{paid}").text
    assert "and 2 more" in text
    assert "2 of 12 signatures required" in text
    subnet = client.get(f"/p/subnet/{subnet_id}").text
    assert "2 of 12" in subnet
    assert "and 2 more" in subnet


def test_the_ranking_of_holders_ends_after_a_number_of_owners(
    pchain: PChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = x_history(pchain).gold
    chain = this_node().avm_chain
    every = xchain.holders(chain, gold)
    assert (every.count, every.is_partial) == (2, False)

    monkeypatch.setattr(xchain, "MAX_HELD", 1)
    first = xchain.holders(chain, gold)

    assert (first.count, first.is_partial) == (1, True)
    assert first.rows[0] == every.rows[0]._replace(outputs=1)
    assert "1 holder of the largest outputs" in client.get(f"/x/asset/{gold}").text


def test_coins_with_other_owners_cannot_be_spent_alone(pchain: PChain) -> None:
    gold = x_history(pchain).gold
    chain = this_node().avm_chain

    def held(**terms: bool) -> list[int]:
        several = outputs.balances(chain, OTHER, now=pchain.now, **terms)
        one = outputs.balance(chain.db, OTHER, gold, now=pchain.now, **terms)
        return [several.get(gold, 0), one.amount]

    assert held(with_partial=False) == held(with_partial=True) == [35_100] * 2
    row = XOutput.objects.get(asset_id=gold, amount=30_100)
    two_owners = bytes(row.output)[:24] + (2).to_bytes(4) + 2 * OTHER
    XOutput.objects.filter(pk=row.pk).update(output=two_owners)

    assert held(with_partial=True) == [35_100] * 2
    assert held(with_partial=False) == [5_000] * 2
