"""The real runner under the faults of `test_faults`: its tasks, timeouts, requests and messages.

Time is virtual, so each run is determined by its seed.
"""

import pytest

from tests.searching import seeds
from tests.simulation.driven import DrivenNetwork, DrivenNode, SlowNetwork
from tests.simulation.network import identities
from tests.simulation.node import (
    FAULTY,
    HonestNode,
)

NODES = identities(5)
SOON = 60.0
"""Seconds within which a network makes progress after all faults are gone."""

SEEDS = seeds(10, thorough=100)


def accepted(node: HonestNode) -> list[str]:
    """Return the texts of a node's blocks."""
    return [block.text for block in node.inner.accepted]


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_are_accepted_by_all_in_the_same_order(seed: int) -> None:
    with DrivenNetwork(seed, NODES) as network:
        network.issue(3)
        assert network.reach(3, SOON)
        network.issue(3)
        assert network.reach(6, SOON)
        texts = accepted(network.honest[0])
        assert sorted(texts) == ["genesis", *(f"tx {number}" for number in range(1, 7))]
        assert [accepted(node) for node in network.honest] == [texts] * 5


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_arrive_while_threads_work(seed: int) -> None:
    with SlowNetwork(seed, NODES, loss=0.05) as network:
        network.issue(2)
        assert network.reach(2, 3 * SOON)
        texts = accepted(network.honest[0])
        assert [accepted(node)[:3] for node in network.honest] == [texts[:3]] * 5


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_and_reordered_messages(seed: int) -> None:
    with DrivenNetwork(seed, NODES, loss=0.1) as network:
        network.bus.latency = (0.001, 0.5)
        network.issue(2)
        assert network.reach(2, 3 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "groups", [[{0, 1, 2}, {3, 4}], [{0, 1}, {2, 3}, {4}]], ids=["3/2", "2/2/1"]
)
def test_partitioned_network_heals(groups: list[set[int]], seed: int) -> None:
    with DrivenNetwork(seed, NODES) as network:
        network.issue()
        network.run(network.bus.random.uniform(0.0, 0.3))
        network.split(*groups)
        network.issue()
        network.run(10.0)
        apart = network.height
        network.issue()
        network.run(10.0)
        assert network.height == apart
        assert all(
            node.runner.report().obstacle is not None
            for node in network.honest
            if isinstance(node, DrivenNode)
        )
        network.heal()
        assert network.reach(3, SOON)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FAULTY.values(), ids=FAULTY)
def test_one_dishonest_node(kind: type[HonestNode], seed: int) -> None:
    with DrivenNetwork(seed, NODES, kinds={4: kind}) as network:
        network.issue(2)
        assert network.reach(2, 2 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_different_clocks(seed: int) -> None:
    with DrivenNetwork(seed, NODES, skews={0: 5.0, 1: -2.5, 3: 2.5}) as network:
        network.issue(2)
        assert network.reach(2, 2 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_node_killed_during_acceptance(seed: int) -> None:
    with DrivenNetwork(seed, NODES) as network:
        victim = network.honest[seed % len(NODES)]
        victim.dies_at = seed // len(NODES) % 3
        network.issue()
        assert network.reach(1, SOON, [item for item in network.honest if item is not victim])
        network.run(1.0)
        assert not victim.is_up
        victim.start()
        network.issue()
        assert network.reach(2, SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_absent_node_fetches_missed_blocks(seed: int) -> None:
    with DrivenNetwork(seed, NODES) as network:
        away = network.honest[seed % len(NODES)]
        away.stop()
        network.issue(4)
        others = [item for item in network.honest if item is not away]
        assert network.reach(4, 4 * SOON, others)
        assert away.height == 0
        away.start()
        assert network.reach(4, SOON)
        assert accepted(away) == accepted(others[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_node_recovers_from_a_failed_commit(seed: int) -> None:
    with DrivenNetwork(seed, NODES) as network:
        node = network.honest[seed % len(NODES)]
        assert isinstance(node, DrivenNode)
        node.inner.fails = True
        network.issue(2)
        assert network.reach(2, 2 * SOON, [item for item in network.honest if item is not node])
        network.run(2.0)
        assert node.height == 0
        assert node.runner.report().totals.restarts > 0
        node.inner.fails = False
        assert network.reach(2, SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_propose_at_once(seed: int) -> None:
    """The first block has no assigned proposer: each node builds one, and one of them is accepted."""
    with DrivenNetwork(seed, NODES) as network:
        for node in network.honest:
            node.take(f"of node {node.number}")
        assert network.reach(5, 3 * SOON)
        texts = accepted(network.honest[0])
        assert [accepted(node) for node in network.honest] == [texts] * 5
        rejected = [
            node.runner.report().totals.rejected.blocks
            for node in network.honest
            if isinstance(node, DrivenNode)
        ]
        assert max(rejected) > 0


def test_network_stops_without_a_quarter_of_the_stake() -> None:
    with DrivenNetwork(1, NODES) as network:
        network.issue()
        assert network.reach(1, SOON)
        for node in network.honest[:2]:
            node.stop()
        network.issue()
        network.run(SOON)
        assert network.height == 1
        for node in network.honest[:2]:
            node.start()
        assert network.reach(2, SOON)
