"""The count of all coins, after transfers between all chains, on both databases."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.models import Account
from cchain_app.services import cheats
from health_app.conservation import CoinCount
from health_app.metrics.chains import of_transfers
from health_app.supply import CountedChains, count_coins
from nodeproject.apps import this_node
from nodeproject.node import Node
from platform_app.config import UNIT
from platform_app.models import UTXO
from primitives.ids import P_CHAIN_ID
from primitives.keys import EWOQ_KEY, address_of
from shared_app.models import EarlyImport
from tests.builders.node_settings import updated
from tests.integration.cchain_app.atomic.conftest import TO, Both, both
from tests.integration.platform_app.conftest import nothing_remembered, shared_pchain
from tests.integration.platform_app.made import export as platform_export
from xchain_app.services import mempool, wallet
from xchain_app.wallet.transactions import AssetPayment

__all__ = ["both", "nothing_remembered", "shared_pchain"]

pytestmark = pytest.mark.django_db(transaction=True)

EWOQ = address_of(EWOQ_KEY)


def count() -> CoinCount | str:
    node = this_node()
    return count_coins(
        CountedChains(node.platform_runtime.chain, node.evm_runtime.chain, node.avm_runtime.chain)
    )


def counted() -> CoinCount:
    found = count()
    assert isinstance(found, CoinCount), found
    return found


def waiting() -> dict[tuple[str, str], tuple[float, float]]:
    """Return number and amount of the outputs that wait between each two chains, from the metrics."""
    found: dict[tuple[str, str], list[float]] = {}
    for metric in of_transfers(this_node().platform_chain):
        for sample in metric.samples:
            place = sample.labels["source"], sample.labels["destination"]
            found.setdefault(place, []).append(sample.value)
    return {place: (values[0], values[1]) for place, values in found.items()}


def from_x(both: Both, amount: int) -> None:
    """Export an amount from the X-Chain to the P-Chain."""
    chain = this_node().avm_chain
    own = wallet.own_wallet(chain, [EWOQ_KEY], now=both.p.now)
    paid = AssetPayment(chain.stored().fee_asset_id, amount, EWOQ)
    mempool.issue_tx(chain, own.export(paid, P_CHAIN_ID), now=both.p.now)
    assert this_node().avm_runtime.consensus.produce(now=both.p.now) is not None


def test_no_coin_is_lost_on_its_way(both: Both) -> None:
    assert counted().difference == 0
    both.exported_to_c(5 * UNIT)
    assert counted().verdict() == ("", "")
    both.do(both.make_import())
    both.do(both.make_export(2 * UNIT))
    from_x(both, 3 * UNIT)
    both.p.do(platform_export(both.p, both.p.network.x_chain_id, UNIT))
    found = counted()
    assert found.verdict() == ("", "")
    assert found.places["between the chains"] == 6 * 10**18
    assert all(found.places[f"burned on the {letter}-Chain"] > 0 for letter in "PXC")
    in_flight = waiting()
    assert in_flight[("X", "P")] == (1, 3 * UNIT)
    assert in_flight[("P", "X")] == (1, UNIT)
    assert in_flight[("C", "P")] == (1, 2 * UNIT)
    assert in_flight[("P", "C")] == in_flight[("X", "C")] == in_flight[("C", "X")] == (0, 0)
    total = sum(amount for _, amount in in_flight.values())
    assert total * 10**18 // UNIT == found.places["between the chains"]

    written = StringIO()
    call_command("check_supply", stdout=written)
    assert written.getvalue() == "All coins are accounted for.\n"

    stray = UTXO.objects.order_by("amount").first()
    assert stray is not None
    UTXO.objects.filter(pk=stray.pk).update(amount=stray.amount + 1)
    assert counted().verdict().fault == "0.000001 coins more than came into being"
    with pytest.raises(CommandError, match=r"There are 0\.000001 coins more than came into being"):
        call_command("check_supply", stdout=StringIO())


def test_balances_that_were_set_are_counted(both: Both) -> None:
    cheats.change_state(both.c.evm, [cheats.balance(TO, 7 * 10**18)])
    found = counted()
    assert found.sources["development methods"] == 7 * 10**18
    assert found.verdict() == ("", "")
    Account.objects.filter(pk=TO).update(balance=6 * 10**18)
    assert found.difference == 0
    assert counted().difference == -(10**18)


def test_a_setting_makes_it_a_health_check(both: Both, node_settings: Any) -> None:
    del both
    without = this_node().observation.check_results()[1]
    assert "supply" not in without
    observed = Node(updated(node_settings, supply_interval=1_000)).observation
    tags = observed.check_results()[1]
    assert tags["supply"] == {"all", "11111111111111111111111111111111LpoYY"}
    watch = observed.supply
    assert watch is not None
    assert watch.measure().message == {"counted": False}
    watch.wait()
    assert watch.measure() == ({"counted": True, "differenceInWei": "0"}, "", None)


def test_chains_at_different_points_are_not_compared(both: Both) -> None:
    EarlyImport.objects.create(
        utxo_id=both.p.asset_id,
        source_chain=P_CHAIN_ID,
        destination_chain=both.p.asset_id,
        height=1,
    )
    assert "an import waits for its export" in str(count())
    with pytest.raises(CommandError, match="The coins cannot be counted"):
        call_command("check_supply", stdout=StringIO())
