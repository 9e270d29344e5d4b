"""Imports of which some nodes have not accepted the export yet: a block that is too early for a node is not lost for it."""

from collections.abc import Iterator, Sequence

import pytest

from tests.searching import seeds
from tests.simulation.driven import DrivenNetwork
from tests.simulation.network import identities
from tests.simulation.node import HonestNode

NODES = identities(5)
SOON = 60.0
"""Seconds within which a network makes progress after all nodes have accepted the export."""
SEEDS = seeds(3, thorough=300)


@pytest.fixture(params=SEEDS)
def network(request: pytest.FixtureRequest) -> Iterator[DrivenNetwork]:
    """Five nodes, each with the loop that drives its engine."""
    with DrivenNetwork(request.param, NODES) as made:
        yield made


def import_on(network: DrivenNetwork, ignorant: Sequence[HonestNode]) -> None:
    """Issue an import; some nodes have not accepted its export."""
    for node in ignorant:
        node.inner.unknown.add("tx 1")
    network.issue()


def test_who_accepts_the_export_later_accepts_the_import_later(network: DrivenNetwork) -> None:
    late, *others = network.honest
    import_on(network, [late])
    assert network.reach(1, SOON, among=others)
    network.run(network.bus.random.uniform(0.0, 8.0))
    assert late.height == 0

    late.inner.unknown.clear()  # no other transaction comes that could wake it

    assert network.reach(1, SOON)


def test_an_import_is_accepted_once_enough_have_accepted_the_export(network: DrivenNetwork) -> None:
    ignorant = network.honest[:3]
    import_on(network, ignorant)
    network.run(network.bus.random.uniform(2.0, 8.0))
    assert network.height == 0  # 40 % of the stake do not decide

    for node in ignorant:
        node.inner.unknown.clear()
        network.run(network.bus.random.uniform(0.0, 3.0))

    assert network.reach(1, SOON)


def test_exports_that_reach_each_node_at_another_time(network: DrivenNetwork) -> None:
    random = network.bus.random
    import_on(network, network.honest)
    network.issue()
    network.split({0, 1, 2, 3}, {4})
    for node in random.sample(network.honest, len(network.honest)):
        network.run(random.uniform(0.0, 2.0))
        node.inner.unknown.clear()
    network.heal()

    assert network.reach(2, 2 * SOON)
