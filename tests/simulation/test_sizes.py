"""Networks of twenty and of a hundred nodes under the faults of five, with the same share of faulty nodes.

Each run is determined by its seed. Whenever a node accepts a block, `World.note` asserts that no other
honest node has accepted a different one at this height.

`make search` runs 1,000 seeds of each fault, `make test` 25 of each with five nodes (`test_faults`), 5 of each with
twenty and one of each with a hundred: one seed of all eleven faults takes 3 s of one core with twenty nodes and 35 s
with a hundred. The search shows that no fault forks a network; a test run checks that the faults still work.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pytest

from tests.builders.outer_blocks import Node
from tests.searching import seeds
from tests.simulation.network import SURE, SimulatedNetwork, identities
from tests.simulation.node import FAULTY, HonestNode

SOON = 60.0
"""Seconds within which a network makes progress after all faults are gone: a dozen slots."""

Run = Callable[[int, Sequence[Node]], None]
"""Exposes a network with a seed and nodes to a fault."""


@cache
def nodes(count: int) -> list[Node]:
    """Return keys, which are cached."""
    return identities(count)


def without_faults(seed: int, nodes: Sequence[Node]) -> None:
    network = SimulatedNetwork(seed, nodes)
    for height in (1, 2):
        network.issue()
        assert network.reach(height, SOON)


def lossy(seed: int, nodes: Sequence[Node]) -> None:
    network = SimulatedNetwork(seed, nodes, loss=0.1)
    network.bus.latency = (0.001, 0.5)
    network.issue()
    assert network.reach(1, 3 * SOON)


def apart(*fifths: int) -> Run:
    """Return a run with a temporary partition into parts of the given fifths of the nodes."""

    def run(seed: int, nodes: Sequence[Node]) -> None:
        network, first = SimulatedNetwork(seed, nodes), 0
        network.issue()
        network.run(network.bus.random.uniform(0.0, 0.3))
        groups = []
        for part in fifths:
            end = first + part * len(nodes) // 5
            groups.append(set(range(first, end)))
            first = end
        network.split(*groups)
        network.run(5.0)
        height = network.height
        network.issue()
        network.run(5.0)
        assert network.height == height  # no node is connected to enough of the stake
        network.heal()
        assert network.reach(height + 1, SOON)

    return run


def faulty(kind: type[HonestNode]) -> Run:
    """Return a run in which every fifth node is of a class."""

    def run(seed: int, nodes: Sequence[Node]) -> None:
        kinds = dict.fromkeys(range(4, len(nodes), 5), kind)
        network = SimulatedNetwork(seed, nodes, kinds=kinds, parameters=SURE)
        network.issue()
        assert network.reach(1, 2 * SOON)

    return run


def skewed(seed: int, nodes: Sequence[Node]) -> None:
    skews = {number: (5.0, -2.5, 2.5, 0.0)[number % 4] for number in range(len(nodes))}
    network = SimulatedNetwork(seed, nodes, skews=skews)
    network.issue()
    assert network.reach(1, 2 * SOON)


def killed(seed: int, nodes: Sequence[Node]) -> None:
    network = SimulatedNetwork(seed, nodes)
    victims = network.honest[::5]
    for victim in victims:
        victim.dies_at = victim.random.randrange(3)
    network.issue()
    assert network.reach(1, SOON, [item for item in network.honest if item not in victims])
    # After the first victim is dead, votes take longer, and so does the last victim's acceptance.
    assert network.until(lambda: not any(victim.is_up for victim in victims), SOON)
    for victim in victims:
        victim.start()
    network.issue()
    assert network.reach(2, SOON)


FAULTS: Mapping[str, Run] = {
    "none": without_faults,
    "lossy": lossy,
    "3/2": apart(3, 2),
    "2/2/1": apart(2, 2, 1),
    "clocks apart": skewed,
    "killed": killed,
    **{name: faulty(kind) for name, kind in FAULTY.items()},
}

each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


@pytest.mark.parametrize("seed", seeds(5, thorough=1_000))
@each_fault
def test_twenty_nodes(fault: Run, seed: int) -> None:
    fault(seed, nodes(20))


@pytest.mark.parametrize("seed", seeds(1, thorough=1_000))
@each_fault
def test_a_hundred_nodes(fault: Run, seed: int) -> None:
    fault(seed, nodes(100))
