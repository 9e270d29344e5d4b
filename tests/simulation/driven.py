"""Nodes of the simulated network that use the real runner: its tasks, timers, requests and messages."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

from chainvm.port import Written
from network_app.config import NetworkConfig
from network_app.consensus.runner import Runner
from network_app.consensus.validators import CurrentValidators
from network_app.consensus.vm import VotedChain
from network_app.peers.bench import Bench
from network_app.ports import NetworkTotals, PeerInfo, ValidatorInfo
from network_app.proposervm.vm import ProposerVM
from network_app.snowman.ports import Chits
from network_app.sync.budget import AnswerBudget, PeerSlots
from network_app.sync.messages import enclose
from network_app.sync.requests import Requests
from network_app.wire import p2p_pb2 as p2p
from network_app.wire.framing import PackedMessage
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import TextBlock
from tests.builders.memory_network import peer_info, unpacked
from tests.builders.outer_blocks import CHAIN
from tests.simulation.network import SimulatedNetwork
from tests.simulation.node import TICK, HonestNode, Killed
from tests.simulation.virtual import LoopBus, VirtualLoop

CONFIG = NetworkConfig(network_id=12345, first_request_timeout=2.0)

T = TypeVar("T")


class _NotedVM(ProposerVM[TextBlock]):
    """A VM that records accepted blocks, and kills its node at the chosen point."""

    node: "DrivenNode"

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        self.node.may_die()
        super().accept(block_ids, written=written)
        self.node.note()
        self.node.may_die()


class DrivenNode(HonestNode):
    """A node whose engine is driven by `Runner`."""

    runner: Runner[Any]

    slowness = 0.0
    """The longest duration of a call of the VM in seconds."""

    @property
    def bus(self) -> LoopBus:
        assert isinstance(self.world.bus, LoopBus)
        return self.world.bus

    def voted_chain(self) -> VotedChain[Any]:
        """Return the chain at its stored state."""
        vm = self.open_vm(_NotedVM)
        assert isinstance(vm, _NotedVM)
        vm.node = self
        self.vm = vm
        return VotedChain(
            "P",
            CHAIN,
            vm,
            self.run_work,
            self.clock,
            written=lambda _: self.may_die(),
        )

    def start(self) -> None:
        self.life += 1
        chain = self.voted_chain()
        clock, bench = self.bus.loop.time, Bench(CONFIG)
        self.runner = Runner(
            chain,
            self,
            Requests(self, bench, CONFIG, alias="P", chain_id=chain.chain_id, clock=clock),
            CurrentValidators(
                self,
                bench,
                self.world.parameters,
                own=self.node_id,
                alias="P",
                random=self.random,
                clock=clock,
            ),
            budget=AnswerBudget(CONFIG, PeerSlots(), self.validators().__contains__, clock),
            config=CONFIG,
            parameters=self.world.parameters,
            clock=clock,
        )
        self._heard: dict[NodeID, PeerInfo] = {}
        self.world.bus.connect(self.number, self.deliver)
        self._tasks = [
            self.bus.loop.create_task(self._run()),
            self.bus.loop.create_task(self._watch()),
        ]

    def stop(self) -> None:
        super().stop()
        for task in self._tasks:
            task.cancel()

    def take(self, text: str) -> None:
        super().take(text)
        self.runner.blocks_waiting()

    async def run_work(self, work: Callable[..., T], /, *args: object) -> T:
        """Run the work of a thread."""
        if self.slowness:
            await asyncio.sleep(self.random.uniform(0.0, self.slowness))
        return work(*args)

    def may_die(self) -> None:
        self._may_die()

    def note(self) -> None:
        """Record the stored blocks, which must be the same on all nodes."""
        for height, outer in enumerate(self.rows.blocks, 1):
            try:
                self.world.note(height, outer.outer_id)
            except AssertionError as error:
                self.bus.failures.append(error)

    async def _run(self) -> None:
        try:
            await self.runner.run()
        except BaseExceptionGroup as group:
            if group.split(Killed)[1] is not None:
                raise
            self.stop()

    async def _watch(self) -> None:
        """Report connected and disconnected nodes to the runner."""
        while True:
            now_there = self.connected()
            for node_id in sorted(now_there.keys() - self._heard.keys()):
                self.runner.connected(node_id)
            for node_id in sorted(self._heard.keys() - now_there.keys()):
                self.runner.disconnected(node_id)
            self._heard = dict(now_there)
            await asyncio.sleep(TICK)

    # --- ports.PeerNetwork and ports.Directory

    @property
    def node_id(self) -> NodeID:
        return self.identity.node_id

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        hears = self.world.bus.hears
        return MappingProxyType({
            node_id: peer_info(node_id)
            for node_id, number in self.world.numbers.items()
            if number != self.number and hears(number, self.number)
        })  # fmt: skip

    def send(self, node_id: NodeID, message: p2p.Message | PackedMessage) -> bool:
        number = self.world.numbers[node_id]
        if not self.world.bus.hears(self.number, number):
            return False
        plain = unpacked(message)
        is_driven = isinstance(self.world.nodes[number], DrivenNode)
        kind, content = ("wire", (plain.SerializeToString(),)) if is_driven else _spoken(plain)
        self.world.bus.send(self.number, number, kind, content)
        return True

    def totals(self) -> NetworkTotals:
        raise NotImplementedError

    def validators(self, subnet_id: object = None) -> Mapping[NodeID, ValidatorInfo]:
        return {one: ValidatorInfo(stake, None) for one, stake in self.world.stakes.items()}

    def uptime_of(self, node_id: NodeID) -> int:
        raise NotImplementedError

    def deliver(self, sender: int, kind: str, content: tuple[Any, ...]) -> None:
        raw = content[0] if kind == "wire" else _written(kind, content).SerializeToString()
        node_id = self.world.identities[sender].node_id
        self.bus.loop.create_task(self._handle(node_id, p2p.Message.FromString(raw)))

    async def _handle(self, node_id: NodeID, message: p2p.Message) -> None:
        await self.runner.handle(node_id, message)


class SlowNode(DrivenNode):
    """A node whose blocks take long to verify, so that messages arrive during verification."""

    slowness = 0.05


class DrivenNetwork(SimulatedNetwork):
    """Runners on one virtual loop; faulty nodes send them the same messages as other nodes."""

    honest_kind = DrivenNode

    def make_bus(self, random: Random, loss: float) -> LoopBus:
        self.loop = VirtualLoop()
        return LoopBus(random, loss, self.loop)

    def __enter__(self) -> "DrivenNetwork":
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.end()


class SlowNetwork(DrivenNetwork):
    """A network of slow nodes."""

    honest_kind = SlowNode


def _spoken(message: p2p.Message) -> tuple[str, tuple[Any, ...]]:
    """Convert a protobuf message to the kind and content that plain simulated nodes use."""
    kind = message.WhichOneof("message")
    one: Any = getattr(message, kind)
    match kind:
        case "push_query":
            return kind, (one.request_id, one.container, one.requested_height)
        case "pull_query":
            return kind, (one.request_id, ID(one.container_id), one.requested_height)
        case "get":
            return kind, (one.request_id, ID(one.container_id))
        case "put":
            return kind, (one.request_id, one.container)
        case _:
            ids = (one.preferred_id, one.preferred_id_at_height, one.accepted_id)
            return "chits", (one.request_id, Chits(*map(ID, ids), one.accepted_height))


def _written(kind: str, content: tuple[Any, ...]) -> p2p.Message:
    """Convert kind and content from a plain simulated node to a protobuf message."""
    common = {"chain_id": bytes(CHAIN), "request_id": content[0]}
    match kind:
        case "push_query":
            return enclose(
                p2p.PushQuery(**common, container=content[1], requested_height=content[2])
            )
        case "pull_query":
            return enclose(
                p2p.PullQuery(**common, container_id=content[1], requested_height=content[2])
            )
        case "get":
            return enclose(p2p.Get(**common, container_id=content[1]))
        case "put":
            return enclose(p2p.Put(**common, container=content[1]))
        case _:
            return enclose(_chits(common, content[1]))


def _chits(common: dict[str, Any], chits: Chits) -> p2p.Chits:
    return p2p.Chits(
        **common,
        preferred_id=bytes(chits.preferred_id),
        preferred_id_at_height=bytes(chits.preferred_id_at_height),
        accepted_id=bytes(chits.accepted_id),
        accepted_height=chits.accepted_height,
    )
