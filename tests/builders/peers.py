"""Networks of several nodes in one process, with short periods, and clients that break the rules.

A `Stranger` speaks TLS with the standard library, not with the code under test.
"""

import asyncio
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from network_app.bloom import EMPTY
from network_app.config import NetworkConfig
from network_app.handshake.claims import IPAddress, SignedIP, claimed_ip_port, preimage
from network_app.handshake.handshake import make
from network_app.peers.dialer import DialAddress
from network_app.peers.network import PeerNetwork
from network_app.peers.throttle import BytePool
from network_app.peers.unknown_peers import UnknownPeers
from network_app.ports import PeerInfo, ValidatorInfo
from network_app.wire import framing
from network_app.wire.p2p_pb2 import (
    ClaimedIpPort,
    GetAcceptedFrontier,
    Handshake,
    Message,
    PeerList,
)
from primitives.identity import sign
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders.nodes import Node, node

LOOPBACK = "127.0.0.1"
NETWORK_ID = 12345
CONFIG = NetworkConfig(
    network_id=NETWORK_ID,
    handshake_timeout=20.0,
    first_retry=0.05,
    longest_retry=0.2,
    ping_interval=20.0,
    read_timeout=40.0,
    peer_list_interval=0.05,
    filter_interval=0.2,
)
PATIENCE = 60.0
"""Seconds until a test gives up waiting."""


async def eventually(holds: Callable[[], Any], what: str = "it did not come to be") -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.005)


@dataclass
class Validators:
    """A directory filled by the test."""

    facts: dict[NodeID, ValidatorInfo] = field(default_factory=dict)
    uptimes: dict[NodeID, int] = field(default_factory=dict)
    of_subnets: dict[ID, dict[NodeID, ValidatorInfo]] = field(default_factory=dict)

    @classmethod
    def of(cls, *nodes: Node) -> "Validators":
        """Return validators of equal stake, with their BLS keys."""
        return cls({
            item.identity.node_id: ValidatorInfo(100, item.identity.bls_public_key) for item in nodes
        })  # fmt: skip

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        return self.facts if subnet_id == PRIMARY_NETWORK_ID else self.of_subnets[subnet_id]

    def uptime_of(self, node_id: NodeID) -> int:
        return self.uptimes.get(node_id, 0)


class Recorder:
    """A handler that records its calls; while `release` is not set, messages stay in progress."""

    def __init__(self) -> None:
        self.events: list[tuple[str, NodeID]] = []
        self.infos: list[PeerInfo] = []
        self.messages: list[tuple[NodeID, Message]] = []
        self.began = 0
        self.cancelled = 0
        self.release = asyncio.Event()
        self.release.set()

    def connected(self, peer: PeerInfo) -> None:
        self.events.append(("connected", peer.node_id))
        self.infos.append(peer)

    def disconnected(self, node_id: NodeID) -> None:
        self.events.append(("disconnected", node_id))

    async def handle(self, node_id: NodeID, message: Message) -> None:
        self.began += 1
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.messages.append((node_id, message))


@dataclass
class Running:
    """A running node: its connections and the recorded events."""

    node: Node
    network: PeerNetwork
    recorder: Recorder
    directory: Validators

    @property
    def node_id(self) -> NodeID:
        return self.node.identity.node_id

    @property
    def address(self) -> tuple[str, int]:
        return LOOPBACK, self.network.port

    @property
    def ended(self) -> Counter[str]:
        """The reasons why connections ended, by class."""
        return self.network.counters.ended

    @property
    def pool(self) -> BytePool:
        """The pool that counts the bytes in progress."""
        assert self.network._running is not None
        return self.network._running.connection_tasks._context.pool

    @property
    def crowd(self) -> UnknownPeers:
        """The unknown peers that were read from recently."""
        assert self.network._running is not None
        return self.network._running.connection_tasks._context.strangers.unknown_peers

    @property
    def in_work(self) -> int:
        """Bytes of messages in progress."""
        return self.pool._in_shared + self.pool._own.total()

    def knows(self, *others: "Running") -> bool:
        return {other.node_id for other in others} <= set(self.network.connected())


@asynccontextmanager
async def running(
    who: Node,
    directory: Validators | None = None,
    *,
    tracked: tuple[tuple[str, int], ...] = (),
    port: int = 0,
    advertised: tuple[str, int] = (LOOPBACK, 0),
    joined: tuple[ID, ...] = (),
    **config: Any,
) -> AsyncIterator[Running]:
    """Run a node's connections; check that none of their tasks is left at the end."""
    recorder = Recorder()
    validators = directory or Validators()
    network = PeerNetwork(
        who.identity,
        replace(CONFIG, **config),
        validators,
        listen=(LOOPBACK, port),
        advertised=advertised,
        tracked=tracked,
        subnets=lambda: joined,
        joined=lambda: joined,
    )
    await network.start(recorder)
    try:
        yield Running(who, network, recorder, validators)
    finally:
        await network.stop()


def dial(here: Running, there: Running) -> None:
    """Make a running node dial another one as a tracked peer."""
    here.network._dialer.track([DialAddress(*there.address)])


def frontier_request(number: int = 1) -> Message:
    """Return a small message of a chain."""
    return Message(
        get_accepted_frontier=GetAcceptedFrontier(
            chain_id=bytes(32), request_id=number, deadline=10**9
        )
    )


def passed_on(who: Node, ip: IPAddress, port: int, timestamp: int) -> ClaimedIpPort:
    """Return a node's address as others gossip it, signed with its TLS key."""
    signature = sign(who.identity.tls_key, preimage(ip, port, timestamp))
    return claimed_ip_port(
        who.identity.certificate_der, SignedIP(ip, port, timestamp, tls_signature=signature)
    )


# --- strangers ---


@cache
def client_context(who: Node | None) -> ssl.SSLContext:
    """Return TLS settings of the standard library with a node's certificate, or with none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if who is not None:
        load_identity(context, who)
    return context


def load_identity(context: ssl.SSLContext, who: Node) -> None:
    """Load a node's certificate."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        certificate.write_bytes(who.files.certificate_pem)
        key.write_bytes(who.files.key_pem)
        context.load_cert_chain(certificate, key)


class Stranger:
    """A client that sends whatever a test wants."""

    def __init__(
        self, who: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.node = who
        self.reader = reader
        self.writer = writer
        host, port = writer.get_extra_info("sockname")[:2]
        self.address = f"{host}:{port}"
        """The address of the client as the server sees it."""

    @property
    def node_id(self) -> NodeID:
        return self.node.identity.node_id

    def handshake(self, **changes: Any) -> Message:
        """Return a handshake that is valid but for the changes; None removes a field."""
        now = int(time.time())
        told = make(
            network_id=NETWORK_ID,
            now=now,
            claim=self.node.claim(ip_address(LOOPBACK), 9651, now),
            tracked_subnets=(),
            known_peers=(bytes(EMPTY), b""),
            all_subnets=False,
            upgrade_time=0,
        )
        for name, value in changes.items():
            told.ClearField(name)  # type: ignore[arg-type]
            if value is not None:
                told.MergeFrom(Handshake(**{name: value}))
        return Message(handshake=told)

    def send(self, *messages: Message) -> None:
        for message in messages:
            self.writer.write(framing.encode(message))

    async def receive(self) -> Message:
        """Return the next message."""
        prefix = await self.reader.readexactly(framing.PREFIX)
        return framing.decode(await self.reader.readexactly(framing.frame_size(prefix)))

    async def receive_kind(self, kind: str) -> Message:
        """Return the next message of a kind, skipping others."""
        while framing.kind(message := await self.receive()) != kind:
            pass
        return message

    async def finish_handshake(self, **changes: Any) -> None:
        """Exchange all messages of a handshake."""
        self.send(self.handshake(**changes), Message(peer_list=PeerList()))
        await self.receive_kind("peer_list")

    def stop_reading(self) -> None:
        """Stop reading from the socket; incoming data stays in the operating system's buffer."""
        self.writer.transport._ssl_protocol._transport.pause_reading()  # type: ignore[attr-defined]

    def go_on_reading(self) -> None:
        """Resume reading after `stop_reading`."""
        self.writer.transport._ssl_protocol._transport.resume_reading()  # type: ignore[attr-defined]

    async def ended(self) -> bool:
        """Wait for the other side to close the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except (ConnectionError, ssl.SSLError):
            pass
        return True


@asynccontextmanager
async def stranger(address: tuple[str, int], who: Node | None = None) -> AsyncIterator[Stranger]:
    """Connect as a node that breaks the rules, or with a certificate of no particular node."""
    who = who or node(99)
    reader, writer = await asyncio.open_connection(*address, ssl=client_context(who))
    try:
        yield Stranger(who, reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def silent(who: Node) -> AsyncIterator[tuple[str, int]]:
    """Listen as a node that completes TLS and then sends nothing; yield its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(context, who)
    writers: list[asyncio.StreamWriter] = []

    async def keep(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(keep, LOOPBACK, 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)
