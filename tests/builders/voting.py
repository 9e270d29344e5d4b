"""A voting chain of one node under test, whose peers are played by the test."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

from typing_extensions import override

from network_app.config import NetworkConfig
from network_app.consensus.runner import Runner
from network_app.consensus.validators import CurrentValidators
from network_app.consensus.vm import VotedChain
from network_app.peers.bench import Bench
from network_app.ports import NetworkTotals, PeerInfo, ValidatorInfo
from network_app.snowman.parameters import SnowParameters
from network_app.sync.budget import AnswerBudget, PeerSlots
from network_app.sync.messages import enclose
from network_app.sync.requests import Requests
from network_app.wire import p2p_pb2 as p2p
from network_app.wire.framing import PackedMessage
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import TextBlock, TextVM
from tests.builders.memory_network import node_id, peer_info, unpacked
from tests.simulation.virtual import VirtualLoop

CHAIN = ID(sha256(b"a chain"))
OWN = node_id("own")
PEERS = [node_id(f"peer {number}") for number in range(4)]
NOW = 1_700_000_000
QUICK = SnowParameters(k=5, alpha_preference=4, alpha_confidence=4, beta=2, concurrent_repolls=1)
CONFIG = NetworkConfig(network_id=12345, first_request_timeout=2.0)

T = TypeVar("T")


def virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop with virtual time, which does not wait for real."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(asyncio.wait_for(work, 3600.0))
    finally:
        loop.end()


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@dataclass
class SlotVM(TextVM):
    """A chain on which a block may be built from a certain time on."""

    slot: int | None = 0
    """Unix milliseconds; None: never."""
    delays: list[int] = field(default_factory=list)
    """The minimum delays of all requests."""
    calls: list[str] = field(default_factory=list)
    """The names of functions called in the thread."""
    slowness: float = 0.0
    """Seconds that each call takes."""

    @override
    def builds_from(self, milliseconds: int, *, minimum_delay: int = 0) -> int | None:
        self.delays.append(minimum_delay)
        return None if self.slot is None else max(milliseconds, self.slot)

    async def run(self, work: Callable[..., T], /, *args: object) -> T:
        """Run the work of a thread immediately; deliver the result later."""
        self.calls.append(getattr(work, "__name__", None) or work.func.__name__)  # type: ignore[attr-defined]
        try:
            return work(*args)
        finally:
            if self.slowness:
                await asyncio.sleep(self.slowness)


class Peers:
    """The connections, and the validators: a `ports.PeerNetwork` and `ports.Directory`."""

    def __init__(self, validators: Iterable[NodeID] = (OWN, *PEERS)) -> None:
        self.node_id = OWN
        self.there = list(PEERS)
        """The connected peers."""
        self.full: set[NodeID] = set()
        """The peers whose send queue is full."""
        self.facts = {validator: ValidatorInfo(1000, None) for validator in validators}
        self.sent: list[tuple[NodeID, p2p.Message]] = []

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        return MappingProxyType({item: peer_info(item) for item in self.there})

    def send(self, node_id: NodeID, message: p2p.Message | PackedMessage) -> bool:
        if node_id not in self.there or node_id in self.full:
            return False
        self.sent.append((node_id, unpacked(message)))
        return True

    def totals(self) -> NetworkTotals:
        raise NotImplementedError

    def validators(self, subnet_id: object = None) -> Mapping[NodeID, ValidatorInfo]:
        return self.facts

    def uptime_of(self, node_id: NodeID) -> int:
        raise NotImplementedError

    def told(self, kind: str) -> list[tuple[NodeID, Any]]:
        """Return the sent messages of a kind with their receivers."""
        return [
            (one, getattr(message, kind))
            for one, message in self.sent
            if message.WhichOneof("message") == kind
        ]


class Voter:
    """A runner on a virtual event loop; create it while that loop is running."""

    def __init__(
        self,
        vm: SlotVM | None = None,
        peers: Peers | None = None,
        *,
        parameters: SnowParameters = QUICK,
        minimum_delay: int = 0,
        follows: bool = False,
    ) -> None:
        self.vm, self.peers = vm or SlotVM(), peers or Peers()
        clock = asyncio.get_running_loop().time
        self.bench = Bench(CONFIG)
        self.requests = Requests(
            self.peers, self.bench, CONFIG, alias="P", chain_id=CHAIN, clock=clock
        )
        self.validators = CurrentValidators(
            self.peers,
            self.bench,
            parameters,
            own=OWN,
            alias="P",
            random=Random(7),
            clock=clock,
        )
        self.written: list[ID] = []
        self.chain: VotedChain[TextBlock] = VotedChain(
            "P",
            CHAIN,
            self.vm,
            self.vm.run,
            lambda: NOW + clock(),
            minimum_delay=minimum_delay,
            written=self.written.append,
            follows=follows,
        )
        self.runner = Runner(
            self.chain,
            self.peers,
            self.requests,
            self.validators,
            budget=AnswerBudget(CONFIG, PeerSlots(), self.peers.facts.__contains__, clock),
            config=CONFIG,
            parameters=parameters,
            clock=clock,
        )
        for item in self.peers.there:
            self.runner.connected(item)
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Voter":
        self._running = asyncio.create_task(self.runner.run())
        await until(lambda: self.runner.report().is_running)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    def hear(self, sender: NodeID, content: Any) -> "asyncio.Future[None]":
        """Deliver an incoming message."""
        content.chain_id = content.chain_id or bytes(CHAIN)
        return asyncio.ensure_future(self.runner.handle(sender, enclose(content)))

    def answer_all(self, block: TextBlock, last: TextBlock, since: int = 0) -> int:
        """Answer all queries from index `since` on with votes for a block; return the message count."""
        for peer, message in self.peers.sent[since:]:
            kind = message.WhichOneof("message")
            if kind in {"pull_query", "push_query"}:
                self.hear(peer, chits(block, getattr(message, kind).request_id, last))
        return len(self.peers.sent)

    async def accept(self, block: TextBlock, last: TextBlock) -> None:
        """Vote for a block until it is accepted."""
        seen = 0
        async with asyncio.timeout(60.0):
            while self.vm.accepted[-1] != block:
                seen = self.answer_all(block, last, seen)
                await asyncio.sleep(0.01)


def chits(block: TextBlock, number: int, last: TextBlock | None = None) -> p2p.Chits:
    """Return a vote for a block."""
    accepted = last or block
    return p2p.Chits(
        chain_id=bytes(CHAIN),
        request_id=number,
        preferred_id=bytes(block.block_id),
        preferred_id_at_height=bytes(block.block_id),
        accepted_id=bytes(accepted.block_id),
        accepted_height=accepted.height,
    )
