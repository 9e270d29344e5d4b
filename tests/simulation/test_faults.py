"""Five nodes under every fault: never two accepted blocks at one height, and progress afterwards.

Each run is determined by its seed. Whenever a node accepts a block, `World.note` asserts that no other
honest node has accepted a different one at this height.
"""

import pytest

from network_app.snowman.parameters import SnowParameters
from tests.searching import seeds
from tests.simulation.network import SURE, SimulatedNetwork, identities
from tests.simulation.node import (
    FAULTY,
    HonestNode,
)

NODES = identities(5)
SOON = 60.0
"""Seconds within which a network makes progress after all faults are gone: a dozen slots."""

SEEDS = seeds(25, thorough=1_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_network_without_faults(seed: int) -> None:
    network = SimulatedNetwork(seed, NODES)
    for height in range(1, 4):
        network.issue()
        assert network.reach(height, SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_and_reordered_messages(seed: int) -> None:
    network = SimulatedNetwork(seed, NODES, loss=0.1)
    network.bus.latency = (0.001, 0.5)
    network.issue(2)
    assert network.reach(2, 3 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "groups", [[{0, 1, 2}, {3, 4}], [{0, 1}, {2, 3}, {4}]], ids=["3/2", "2/2/1"]
)
def test_partitioned_network_heals(groups: list[set[int]], seed: int) -> None:
    network = SimulatedNetwork(seed, NODES)
    network.issue()
    network.run(network.bus.random.uniform(0.0, 0.3))  # usually in the middle of a decision
    network.split(*groups)
    network.issue()
    network.run(10.0)
    apart = network.height
    network.issue()
    network.run(10.0)
    assert network.height == apart  # no node is connected to enough of the stake
    network.heal()
    assert network.reach(3, SOON)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FAULTY.values(), ids=FAULTY)
def test_one_dishonest_node(kind: type[HonestNode], seed: int) -> None:
    network = SimulatedNetwork(seed, NODES, kinds={4: kind}, parameters=SURE)
    network.issue(2)
    assert network.reach(2, 2 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_different_clocks(seed: int) -> None:
    network = SimulatedNetwork(seed, NODES, skews={0: 5.0, 1: -2.5, 3: 2.5})
    network.issue(2)
    assert network.reach(2, 2 * SOON)


@pytest.mark.parametrize("seed", SEEDS)
def test_node_killed_during_acceptance(seed: int) -> None:
    network = SimulatedNetwork(seed, NODES)
    victim = network.honest[seed % len(NODES)]
    victim.dies_at = seed // len(NODES) % 3
    network.issue()
    assert network.reach(1, SOON, [item for item in network.honest if item is not victim])
    network.run(1.0)
    assert not victim.is_up
    victim.start()
    network.issue()
    assert network.reach(2, SOON)


def test_too_small_beta_is_detected() -> None:
    """If one poll of three validators suffices, skewed clocks lead to two accepted blocks of one height."""
    weak = SnowParameters(k=3, alpha_preference=2, alpha_confidence=2, beta=1, concurrent_repolls=1)

    def run() -> None:
        for seed in range(40):
            network = SimulatedNetwork(seed, NODES, parameters=weak, skews={0: 1.0, 1: 2.0, 2: 3.0})
            network.bus.latency = (0.001, 0.5)
            network.issue()
            network.reach(1, SOON)

    with pytest.raises(AssertionError, match="two blocks at 1"):
        run()


def test_network_stops_without_a_quarter_of_the_stake() -> None:
    network = SimulatedNetwork(1, NODES)
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
