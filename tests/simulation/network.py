"""A whole simulated network, and what a run of it must show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from network_app.snowman.parameters import Parameters
from tests.builders.outer_blocks import Node, a_node
from tests.simulation.bus import Bus
from tests.simulation.node import HonestNode, World

SMALL = Parameters(k=20, alpha_preference=13, alpha_confidence=13, beta=8, concurrent_repolls=4)
"""For four to nine validators; with fewer polls in a row than a real network asks for."""
SURE = replace(SMALL, beta=20)
"""With as many as a real one. Eight are too few against a node that confirms whatever others prefer: the chance that two
halves decide differently is then about 0.001 a run (snowman.md 12), and a search has found such a run."""


def identities(count: int) -> list[Node]:
    """Return keys for nodes; they take longer to make than a run takes."""
    return [a_node() for _ in range(count)]


class SimulatedNetwork:
    """Nodes with equal stake on one bus.

    Args:
        seed: Of all chance.
        nodes: Their keys.
        kinds: The nodes that are not honest, by number.
        skews: Seconds by which clocks are ahead, by number.
        parameters: How many are asked.
        loss: Share of the messages that get lost.
    """

    honest_kind = HonestNode

    def __init__(
        self,
        seed: int,
        nodes: Sequence[Node],
        *,
        kinds: Mapping[int, type[HonestNode]] | None = None,
        skews: Mapping[int, float] | None = None,
        parameters: Parameters = SMALL,
        loss: float = 0.0,
    ) -> None:
        self.bus = self.make_bus(Random(seed), loss)
        self.world = World(self.bus, parameters, nodes, {one.node_id: 2000 for one in nodes})
        for number in range(len(nodes)):
            kind = (kinds or {}).get(number, self.honest_kind)
            node = kind(self.world, number, (skews or {}).get(number, 0.0))
            self.world.nodes.append(node)
        self.honest = [one for one in self.world.nodes if type(one) is self.honest_kind]
        self._texts = 0

    def make_bus(self, random: Random, loss: float) -> Bus:
        """Return what carries the messages."""
        return Bus(random, loss)

    def issue(self, count: int = 1) -> None:
        """Have a transaction reach all nodes that are up."""
        for _ in range(count):
            self._texts += 1
            for node in self.world.nodes:
                node.take(f"tx {self._texts}")

    def run(self, seconds: float) -> None:
        """Let time pass, whatever happens."""
        self.bus.run(self.bus.now + seconds, lambda: False)

    def until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Let time pass until something is so; say whether it is."""
        return self.bus.run(self.bus.now + seconds, reached)

    def reach(self, height: int, seconds: float, among: Sequence[HonestNode] = ()) -> bool:
        """Let time pass until nodes have accepted blocks up to a height; say whether they have."""
        nodes = among or self.honest
        return self.until(lambda: all(node.height >= height for node in nodes), seconds)

    @property
    def height(self) -> int:
        """The highest block that an honest node has accepted."""
        return max(node.height for node in self.honest)

    def split(self, *groups: set[int]) -> None:
        """Let nodes hear only those of their group."""
        self.bus.groups = list(groups)

    def heal(self) -> None:
        """Let all hear all."""
        self.bus.groups = []
