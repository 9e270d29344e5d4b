"""A running chain decides alone at first, and then by the consensus of its network."""

from typing import Any

from django.conf import settings

from cchain_app.chain import EvmChain
from cchain_app.services.runtime import EvmRuntime
from chaindb.database import Database
from nodeproject.apps import this_node
from platform_app.chain import PlatformChain
from platform_app.services.runtime import PlatformRuntime
from tests.builders.deciding import deciding


def runtimes() -> tuple[Any, ...]:
    """Return both chains on a database that does not exist."""
    node, db = settings.NODE, Database("nowhere")
    return (
        EvmRuntime(EvmChain(node.common, node.cchain, db)),
        PlatformRuntime(PlatformChain(node.common, node.platform, db, this_node().identity)),
    )


def test_at_first_this_node_decides_alone_under_the_lock_of_the_chains_vm() -> None:
    for runtime in runtimes():
        assert runtime.consensus.decides_alone
        assert runtime.consensus.lock is runtime.chain.vm_lock


def test_another_consensus_can_be_set() -> None:
    for runtime in runtimes():
        other = deciding(runtime, here=False)
        runtime.decide_by(other)
        assert runtime.consensus is other


def test_nothing_is_mined_on_arrival_while_a_call_makes_the_blocks() -> None:
    runtime, _ = runtimes()
    assert not runtime.arrivals.mines
    runtime.mine_on_arrival()

    with runtime.only_to_pool():
        assert not runtime.arrivals.mines
    assert runtime.arrivals.mines


def test_a_chain_without_a_network_has_no_peers_and_a_clock_of_its_own() -> None:
    runtime, _ = runtimes()
    assert not runtime.chain.has_peers()
    assert runtime.chain.least_time() == 0
    node = settings.NODE
    beside = EvmChain(
        node.common,
        node.cchain,
        Database("nowhere"),
        has_peers=lambda: True,
        least_time=lambda: 7,
    )
    assert beside.has_peers()
    assert beside.least_time() == 7
