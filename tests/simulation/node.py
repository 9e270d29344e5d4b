"""Nodes of the simulated network: honest and faulty ones."""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from chainvm.errors import InvalidBlock
from chainvm.port import MILLISECONDS, BlockContext
from network_app.proposervm.building import BlockSigner
from network_app.proposervm.errors import NotOurSlot
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.polls import sample
from network_app.snowman.ports import Chits
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import (
    GENESIS,
    OuterBlocksInMemory,
    TextBlock,
    TextVM,
)
from tests.builders.outer_blocks import CHAIN, NOW, Node
from tests.simulation.bus import Bus

TIMEOUT = 2.0
"""Seconds after which a request fails."""
TICK = 0.1
"""Seconds between checks for news and for a block to build."""

Block = ProposerBlock[TextBlock]


class Killed(BaseException):
    """The process is killed at this point."""


@dataclass
class World:
    """State shared by all nodes: the bus, the validators, and the accepted blocks."""

    bus: Bus
    parameters: SnowParameters
    identities: Sequence[Node]
    stakes: Mapping[NodeID, int]
    nodes: "list[HonestNode]" = field(default_factory=list)
    accepted: dict[int, ID] = field(default_factory=dict)
    """The blocks accepted by honest nodes, by height."""

    def __post_init__(self) -> None:
        self.numbers = {one.node_id: number for number, one in enumerate(self.identities)}

    def note(self, height: int, block_id: ID) -> None:
        """Record that an honest node has accepted a block; fail if another was accepted."""
        assert self.accepted.setdefault(height, block_id) == block_id, f"two blocks at {height}"


class HonestNode:
    """A correct node.

    Args:
        world: The shared state.
        number: Its index among the identities.
        skew: Seconds by which its clock is ahead.
    """

    def __init__(self, world: World, number: int, skew: float = 0.0) -> None:
        self.world = world
        self.number = number
        self.identity = world.identities[number]
        self.skew = skew
        self.random = Random(world.bus.random.random())
        self.inner = TextVM()
        self.rows = OuterBlocksInMemory(self.inner)
        self.dies_at: int | None = None
        """Number of points in acceptances until the node is killed; None: it is not."""
        self.life = 0
        self.start()

    # --- start and stop

    def start(self) -> None:
        """Start from the stored state."""
        self.life += 1
        self.vm = self.open_vm(ProposerVM)
        last = self.vm.get_block(self.vm.last_accepted())
        assert last is not None
        self._answers: dict[tuple[NodeID, int], str] = {}
        self.engine: SnowmanEngine[Block] = SnowmanEngine(
            self, self, self, self.world.parameters, last
        )
        self.world.bus.connect(self.number, self.deliver)
        self._do(self.engine.start())
        life = self.life
        delay = self.random.uniform(0, TICK)
        self.world.bus.at(self.world.bus.now + delay, lambda: self._tick(life))

    def open_vm(self, kind: type[ProposerVM[TextBlock]]) -> ProposerVM[TextBlock]:
        """Return the chain at its stored state."""
        self.inner.tree.reset(self.inner.accepted[-1].block_id, None)
        return kind(
            self.inner,
            self.rows,
            self,
            node_id=self.identity.node_id,
            signature=BlockSigner(CHAIN, self.identity.certificate, self.identity.key),
        )

    def take(self, text: str) -> None:
        """Add a pending transaction."""
        self.inner.waiting.append(text)

    def stop(self) -> None:
        """Stop without a message to other nodes; the stored state remains."""
        self.life += 1
        self.world.bus.disconnect(self.number)

    @property
    def is_up(self) -> bool:
        return self.world.bus.hears(self.number, self.number)

    @property
    def height(self) -> int:
        """The number of stored blocks."""
        return len(self.rows.blocks)

    def clock(self) -> int:
        return NOW + int(self.world.bus.now + self.skew)

    def _tick(self, life: int) -> None:
        if life != self.life:
            return
        self._do(self.engine.gossip())
        may_build = life == self.life and self.inner.waiting and not self.engine.pending_builds
        if may_build and self._is_time_to_build():
            self._do(self.engine.want_block())
        self.world.bus.at(self.world.bus.now + TICK, lambda: self._tick(life))

    def _is_time_to_build(self) -> bool:
        now = self.clock() * MILLISECONDS
        return self.vm.builds_from(now) == now

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that never waits; if the node is killed in it, stop the node."""
        try:
            work.send(None)
        except StopIteration:
            return
        except Killed:
            self.stop()
            return
        raise AssertionError("the engine waits for something")

    # --- messages

    def deliver(self, sender: int, kind: str, content: tuple[Any, ...]) -> None:
        """Receive a message."""
        node_id = self.world.identities[sender].node_id
        is_answer = kind in {"chits", "put"}
        if is_answer and self._answers.pop((node_id, content[0]), None) is None:
            return  # it came after the timeout
        handlers: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
            "push_query": self.engine.push_query,
            "pull_query": self.engine.pull_query,
            "chits": self.engine.chits,
            "put": self.engine.put,
        }
        if kind == "get":
            self._put(sender, *content)
        else:
            self._do(handlers[kind](node_id, *content))

    def _put(self, receiver: int, request_id: int, block_id: ID) -> None:
        found = self.vm.get_block(block_id)
        if found is not None:
            self.world.bus.send(self.number, receiver, "put", (request_id, found.raw))

    def _ask(self, node_id: NodeID, kind: str, request_id: int, *content: Any) -> None:
        """Send a request; fail it after a timeout, or immediately if the receiver is unreachable."""
        key, life, receiver = (node_id, request_id), self.life, self.world.numbers[node_id]
        patience = TIMEOUT if self.world.bus.hears(self.number, receiver) else 0.0
        self._answers[key] = kind
        self.world.bus.send(self.number, receiver, kind, (request_id, *content))

        def fail() -> None:
            if life == self.life and self._answers.pop(key, None) is not None:
                failed = self.engine.get_failed if kind == "get" else self.engine.query_failed
                self._do(failed(*key))

        self.world.bus.at(self.world.bus.now + patience, fail)

    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        self._ask(node_id, "get", request_id, block_id)

    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        for node_id in node_ids:
            self._ask(node_id, "push_query", request_id, raw, height)

    def send_pull_query(
        self, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        for node_id in node_ids:
            self._ask(node_id, "pull_query", request_id, block_id, height)

    def send_chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        self.world.bus.send(self.number, self.world.numbers[node_id], "chits", (request_id, chits))

    # --- validators

    def is_validator(self, node_id: NodeID) -> bool:
        return node_id in self.world.stakes

    def weight(self, node_id: NodeID | None) -> int:
        return self.world.stakes.get(node_id or self.identity.node_id, 0)

    def connected_share(self) -> float:
        connected = sum(
            stake
            for node_id, stake in self.world.stakes.items()
            if self.world.bus.hears(self.world.numbers[node_id], self.number)
        )
        return connected / sum(self.world.stakes.values())

    def sample(self, k: int) -> Counter[NodeID] | None:
        return sample(self.world.stakes, k, self.random)

    def random_connected(self) -> NodeID | None:
        others = [
            node_id
            for node_id in self.world.stakes
            if node_id != self.identity.node_id
            and self.world.bus.hears(self.world.numbers[node_id], self.number)
        ]
        return self.random.choice(others) if others else None

    def current_height(self) -> int:
        return 1

    def minimum_height(self, now: int) -> int:
        del now
        return 1

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        del height
        return self.world.stakes

    # --- the chain

    async def parse(self, raw: bytes) -> Block | None:
        try:
            return self.vm.parse(raw)
        except InvalidBlock:
            return None

    async def get_block(self, block_id: ID) -> Block | None:
        return self.vm.get_block(block_id)

    async def get_block_id_at_height(self, height: int) -> ID | None:
        return self.vm.get_block_id_at_height(height)

    async def build(self) -> Block | None:
        try:
            return self.vm.build(BlockContext(self.clock()))
        except NotOurSlot:
            return None

    async def verify(self, block: Block) -> bool:
        try:
            self.vm.verify(block, BlockContext(self.clock()))
        except InvalidBlock:
            return False
        return True

    async def options(self, block: Block) -> Sequence[Block]:
        return self.vm.options(block) or ()

    async def set_preference(self, block_id: ID) -> None:
        self.vm.set_preference(block_id)

    async def decide(self, decisions: Sequence[VoteDecision]) -> None:
        self._may_die()
        self.vm.accept(
            [decision.accepted for decision in decisions], written=lambda _: self._may_die()
        )
        for item in decisions:
            for rejected in item.rejected:
                assert rejected not in self.vm
        for height, outer in enumerate(self.rows.blocks, 1):
            self.world.note(height, outer.outer_id)
        self._may_die()

    def _may_die(self) -> None:
        if self.dies_at is not None:
            self.dies_at -= 1
            if self.dies_at < 0:
                self.dies_at = None
                raise Killed


class SilentNode(HonestNode):
    """A connected node that never responds."""

    def deliver(self, sender: int, kind: str, content: tuple[Any, ...]) -> None:
        del sender, kind, content

    def _tick(self, life: int) -> None:
        del life


class RandomVoter(SilentNode):
    """A node that answers each query with a random block it has seen."""

    def start(self) -> None:
        self.heard: list[ID] = [GENESIS.block_id]
        super().start()

    def choice(self, queried: ID) -> ID:
        """Return the block to vote for."""
        del queried
        return self.random.choice(self.heard)

    def deliver(self, sender: int, kind: str, content: tuple[Any, ...]) -> None:
        if kind not in {"push_query", "pull_query"}:
            return
        request_id, told, height = content
        queried = told if kind == "pull_query" else self.vm.parse(told).block_id
        self.heard.append(queried)
        chits = Chits(self.choice(queried), self.choice(queried), GENESIS.block_id, height)
        self.world.bus.send(self.number, sender, "chits", (request_id, chits))


class VoterForEverything(RandomVoter):
    """A node that votes for every block it is queried about."""

    def choice(self, queried: ID) -> ID:
        return queried


class DoubleProposer(HonestNode):
    """A node that sends different blocks to two halves of the other nodes in its slot."""

    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        block = self.vm.parse(raw)
        self.inner.waiting.insert(0, f"twin of {block.inner.text}")
        twin = self._twin(block)
        for place, node_id in enumerate(node_ids):
            told = twin.raw if twin is not None and place % 2 else raw
            self._ask(node_id, "push_query", request_id, told, height)

    def _twin(self, block: Block) -> Block | None:
        """Build another block on the same parent."""
        preference = self.vm.preference
        self.vm.set_preference(block.parent_id)
        try:
            return self.vm.build(BlockContext(self.clock()))
        except NotOurSlot:
            return None
        finally:
            self.vm.set_preference(preference)


class TwoFaced(DoubleProposer):
    """Proposes two blocks and confirms the preference of each peer: this keeps a network split longest."""

    def deliver(self, sender: int, kind: str, content: tuple[Any, ...]) -> None:
        if kind not in {"push_query", "pull_query"}:
            super().deliver(sender, kind, content)
            return
        request_id, told, _ = content
        queried = told if kind == "pull_query" else self.vm.parse(told).block_id
        tree = self.engine.tree
        chits = Chits(queried, queried, tree.last_accepted, tree.last_height)
        self.world.bus.send(self.number, sender, "chits", (request_id, chits))


FAULTY: Mapping[str, type[HonestNode]] = {
    "votes at random": RandomVoter,
    "votes for everything": VoterForEverything,
    "proposes two blocks": DoubleProposer,
    "confirms whatever others prefer": TwoFaced,
    "never answers": SilentNode,
}
"""Classes of faulty nodes, by their behaviour."""
