"""Nodes without sockets: engines in one event loop whose messages can be lost, delayed or modified."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from network_app.config import NetworkConfig
from network_app.ports import NetworkTotals, PeerInfo, SyncState, ValidatorInfo
from network_app.sync.router import ChainRouter
from network_app.sync.voting import TakePart
from network_app.sync.witnesses import Beacons
from network_app.wire.framing import PREFIX, PackedMessage, decode, kind
from network_app.wire.p2p_pb2 import Message
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders.memory_chain import MemoryChain
from tests.builders.memory_follower import following

Tamper = Callable[[Message, NodeID], Message | None]
"""Takes a sent message and its receiver; returns the message to send instead, or None for none."""


PATIENT: Final = MappingProxyType({
    "first_request_timeout": 5.0, "least_request_timeout": 5.0, "most_request_timeout": 5.0,
})  # fmt: skip
"""Configuration with such long timeouts that a slow machine misses none of them."""


def node_id(name: str) -> NodeID:
    """Return the ID of the node with a name."""
    return NodeID(sha256(name.encode())[:20])


def unpacked(message: Message | PackedMessage) -> Message:
    """Return a message, decoded if it was already encoded for the wire."""
    if isinstance(message, Message):
        return message
    return decode(message.frame[PREFIX:])


def quick_config(**fields: float) -> NetworkConfig:
    """Return a configuration with short timeouts."""
    quick: dict[str, float] = {
        "first_request_timeout": 0.4,
        "least_request_timeout": 0.2,
        "most_request_timeout": 0.6,
        "fetch_again": 0.05,
        "refused_again": 0.5,
        "sync_repeat": 0.3,
        "push_interval": 0.01,
        "pull_interval": 0.2,
    }
    return NetworkConfig(network_id=12345, **(quick | fields))  # type: ignore[arg-type]


class MemoryRecords:
    """Records that keep every written state."""

    def __init__(self) -> None:
        self.states: list[tuple[str, SyncState]] = []

    def sync(self, alias: str, state: SyncState) -> None:
        self.states.append((alias, state))

    def of(self, alias: str) -> list[SyncState]:
        return [state for name, state in self.states if name == alias]


class Node:
    """A node: its chains, its engine, and its connections (a `ports.PeerNetwork`)."""

    def __init__(
        self,
        world: "World",
        name: str,
        chains: Sequence[MemoryChain],
        beacons: Collection[str],
        config: NetworkConfig,
        *,
        take_part: TakePart | None = None,
        producer: NodeID | None = None,
    ) -> None:
        self.name = name
        self.node_id = node_id(name)
        self.world = world
        self.chains = {chain.alias: chain for chain in chains}
        self.records = MemoryRecords()
        self.tamper: Tamper | None = None
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._beacons = frozenset(node_id(beacon) for beacon in beacons)
        self.engine = ChainRouter(
            self,
            list(chains),
            self.records,
            config,
            self.world,
            beacons=lambda: Beacons(self._beacons & self.connected().keys(), len(self._beacons)),
            run=asyncio.to_thread,
            serve=asyncio.to_thread,
            now=time.time,
            take_part=take_part,
            producer=producer,
        )
        self._running: asyncio.Task[None] | None = None

    @property
    def chain(self) -> MemoryChain:
        """The P-Chain."""
        return self.chains["P"]

    def follows(self, alias: str = "P") -> bool:
        """Return whether a chain has reached the frontier, according to its last report."""
        states = self.records.of(alias)
        return bool(states) and states[-1].bootstrapped

    def aside(self, alias: str = "P") -> list[tuple[NodeID, str]]:
        """Return the peers that are currently set aside for a chain, with the reasons."""
        found = self.engine.choice.aside.now()
        return [(node_id, reason) for (node_id, of), reason in found.items() if of == alias]

    def start(self) -> None:
        self._running = asyncio.create_task(self.engine.run())

    async def stop(self) -> None:
        for other in list(self.connected()):
            self.world.cut(self.node_id, other)
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def make_block(self, payload: bytes = b"", alias: str = "P", kind: int | None = None) -> None:
        """Make a block and notify the engine, as the chain's event does."""
        self.chains[alias].make(payload, kind)
        self.engine.blocks_accepted(alias)

    # --- ports.PeerNetwork

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        return MappingProxyType(self.world.peers_of(self.node_id))

    def send(self, node_id: NodeID, message: Message | PackedMessage) -> bool:
        if node_id not in self.connected():
            return False
        message = unpacked(message)
        told = self.tamper(message, node_id) if self.tamper is not None else message
        if told is not None:
            self.sent[kind(told)] += 1
            self.world.carry(self.node_id, node_id, told)
        return True

    def totals(self) -> NetworkTotals:
        return NetworkTotals(0, 0, 0, 0, 0, None, None, 0, 0, 0.0)

    def deliver(self, sender: NodeID, payload: bytes) -> None:
        """Receive a message, as the connections do."""
        message = Message.FromString(payload)
        self.received[kind(message)] += 1
        task = asyncio.ensure_future(self.engine.handle(sender, message))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.failures.append(task.exception())  # type: ignore[arg-type]


class World:
    """The connections between nodes, and the validators (a `ports.Directory`)."""

    def __init__(self) -> None:
        self.nodes: dict[NodeID, Node] = {}
        self.links: dict[frozenset[NodeID], dict[str, float]] = {}
        self.stakes: dict[NodeID, ValidatorInfo] = {}
        self.chance = random.Random(7)
        self.lost_kinds: frozenset[str] = frozenset()
        """Only these kinds are lost; empty: all kinds."""

    def add(
        self,
        name: str,
        *chains: MemoryChain,
        beacons: Collection[str] = (),
        config: NetworkConfig | None = None,
        weight: int = 0,
        take_part: TakePart | None = None,
        follows: str | None = None,
    ) -> Node:
        """Add a node without starting it; with a weight it is a validator.

        It produces all blocks, follows another node that does, or takes part in some other way.
        """
        made = chains or (MemoryChain("P"),)
        producer = None if follows is None else node_id(follows)
        if producer is not None:
            take_part = following(producer)
        node = Node(
            self,
            name,
            made,
            beacons,
            config or quick_config(),
            take_part=take_part,
            producer=producer,
        )
        self.nodes[node.node_id] = node
        if weight:
            self.stakes[node.node_id] = ValidatorInfo(weight, None)
        return node

    def link(self, one: Node, other: Node, **traits: float) -> None:
        """Connect two nodes. Traits: loss (0 to 1), delay and jitter (seconds), muted (0 or 1)."""
        self.links[frozenset({one.node_id, other.node_id})] = dict(traits)
        for node, peer in ((one, other), (other, one)):
            node.engine.connected(peer_info(peer.node_id))

    def link_all(self, **traits: float) -> None:
        nodes = list(self.nodes.values())
        for at, one in enumerate(nodes):
            for other in nodes[at + 1 :]:
                self.link(one, other, **traits)

    def cut(self, one: NodeID, other: NodeID) -> None:
        """End a connection."""
        if self.links.pop(frozenset({one, other}), None) is not None:
            self.nodes[one].engine.disconnected(other)
            self.nodes[other].engine.disconnected(one)

    def traits(self, one: Node, other: Node) -> dict[str, float]:
        """Return the mutable traits of a connection."""
        return self.links[frozenset({one.node_id, other.node_id})]

    def peers_of(self, node: NodeID) -> dict[NodeID, PeerInfo]:
        found = [next(iter(ends - {node})) for ends in self.links if node in ends]
        return {item: peer_info(item) for item in found}

    def carry(self, sender: NodeID, receiver: NodeID, message: Message) -> None:
        """Deliver a message to the receiver, or lose it."""
        traits = self.links[frozenset({sender, receiver})]
        losable = not self.lost_kinds or kind(message) in self.lost_kinds
        if traits.get("muted") or (losable and self.chance.random() < traits.get("loss", 0.0)):
            return
        delay = traits.get("delay", 0.0) + traits.get("jitter", 0.0) * self.chance.random()
        payload = message.SerializeToString()
        loop = asyncio.get_running_loop()
        loop.call_later(delay, self._arrive, sender, receiver, payload)

    def _arrive(self, sender: NodeID, receiver: NodeID, payload: bytes) -> None:
        if frozenset({sender, receiver}) in self.links:
            self.nodes[receiver].deliver(sender, payload)

    # --- ports.Directory

    def validators(self, subnet_id: object = None) -> Mapping[NodeID, ValidatorInfo]:
        return self.stakes

    def uptime_of(self, node_id: NodeID) -> int:
        return 100 * (node_id in self.nodes)


def peer_info(node: NodeID) -> PeerInfo:
    """Return the info on a connected peer."""
    return PeerInfo(
        node_id=node,
        ip="127.0.0.1:1",
        public_ip="127.0.0.1:1",
        version="avalanchego/1.14.2",
        upgrade_time=0,
        connected_at=0.0,
        last_sent=0.0,
        last_received=0.0,
        observed_uptime=100,
    )


@asynccontextmanager
async def running(*nodes: Node) -> AsyncIterator[None]:
    """Run nodes; check at the end that none of them failed on a message."""
    for node in nodes:
        node.start()
    try:
        yield
    finally:
        for node in nodes:
            await node.stop()
    assert [node.failures for node in nodes] == [[] for _ in nodes]


async def polled(node: Node, times: int = 3) -> None:
    """Wait until a node has polled the others for their last accepted block and got `times` replies.

    Tests wait for a number of polls, not of seconds: an error then shows on any machine.
    """
    before = node.received["chits"]
    await until(lambda: node.received["chits"] >= before + times)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it has not come to pass"
        await asyncio.sleep(0.005)
