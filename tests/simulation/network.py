"""A whole simulated network, and the conditions that a run must reach."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from network_app.snowman.parameters import SnowParameters
from tests.builders.outer_blocks import Node, a_node
from tests.simulation.bus import Bus
from tests.simulation.node import HonestNode, World

SMALL = SnowParameters(k=20, alpha_preference=13, alpha_confidence=13, beta=8, concurrent_repolls=4)
"""For four to nine validators; with fewer successful polls in a row than a real network requires."""
SURE = replace(SMALL, beta=20)
"""With as many as a real one. Eight are too few against a node that confirms all preferences: the chance
that two halves decide differently is then about 0.001 per run (snowman.md 12), and a search has found such a
run."""


def identities(count: int) -> list[Node]:
    """Return keys for nodes; making them takes longer than a run."""
    return [a_node() for _ in range(count)]


class SimulatedNetwork:
    """Nodes with equal stake on one bus.

    Args:
        seed: The seed of all randomness.
        nodes: Their keys.
        kinds: The classes of faulty nodes, by number.
        skews: Seconds by which clocks are ahead, by number.
        parameters: The consensus parameters.
        loss: Share of the messages that are lost.
    """

    honest_kind = HonestNode

    def __init__(
        self,
        seed: int,
        nodes: Sequence[Node],
        *,
        kinds: Mapping[int, type[HonestNode]] | None = None,
        skews: Mapping[int, float] | None = None,
        parameters: SnowParameters = SMALL,
        loss: float = 0.0,
    ) -> None:
        self.bus = self.make_bus(Random(seed), loss)
        self.world = World(self.bus, parameters, nodes, {item.node_id: 2000 for item in nodes})
        for number in range(len(nodes)):
            kind = (kinds or {}).get(number, self.honest_kind)
            node = kind(self.world, number, (skews or {}).get(number, 0.0))
            self.world.nodes.append(node)
        self.honest = [other for other in self.world.nodes if type(other) is self.honest_kind]
        self._texts = 0

    def make_bus(self, random: Random, loss: float) -> Bus:
        """Return the bus that carries the messages."""
        return Bus(random, loss)

    def issue(self, count: int = 1) -> None:
        """Submit transactions to all running nodes."""
        for _ in range(count):
            self._texts += 1
            for node in self.world.nodes:
                node.take(f"tx {self._texts}")

    def run(self, seconds: float) -> None:
        """Advance time."""
        self.bus.run(self.bus.now + seconds, lambda: False)

    def until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Advance time until a condition holds; return whether it holds."""
        return self.bus.run(self.bus.now + seconds, reached)

    def reach(self, height: int, seconds: float, among: Sequence[HonestNode] = ()) -> bool:
        """Advance time until nodes have accepted blocks up to a height; return whether they have."""
        nodes = among or self.honest
        return self.until(lambda: all(node.height >= height for node in nodes), seconds)

    @property
    def height(self) -> int:
        """The height of the highest block accepted by an honest node."""
        return max(node.height for node in self.honest)

    def split(self, *groups: set[int]) -> None:
        """Partition the network into groups."""
        self.bus.groups = list(groups)

    def heal(self) -> None:
        """End the partition."""
        self.bus.groups = []
