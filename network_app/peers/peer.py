"""One connection after TLS: handshake, messages, ping and pong, and the end (p2p.md 4, 6, 7).

`introductions` has the contents of handshakes and peer lists; the handler of the higher layers processes the
messages of the chains.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from network_app.bloom import EMPTY
from network_app.config import NetworkConfig
from network_app.handshake.handshake import PeerVersionInfo
from network_app.peers.counters import Counters
from network_app.peers.errors import (
    PeerError,
    PeerReason,
    TimedOut,
)
from network_app.peers.incoming import HeldMessage, IncomingMessages, Workload
from network_app.peers.introductions import Introductions
from network_app.peers.keepalive import Repeat, Watch
from network_app.peers.listener import prefix_of
from network_app.peers.members import Asker
from network_app.peers.outbox import Outbox
from network_app.peers.stream import Stream
from network_app.peers.throttle import BytePool
from network_app.peers.unknown_peers import ReadThrottle, UnknownPeerLimits
from network_app.ports import Directory, MessageHandler, PeerInfo
from network_app.wire.framing import PackedMessage
from network_app.wire.p2p_pb2 import GetPeerList, Handshake, Message, PeerList, Ping, Pong
from primitives.identity import node_id_of
from primitives.ids import NodeID

OF_THE_CONNECTION = frozenset({"ping", "pong", "handshake", "peer_list", "get_peer_list"})
"""Messages processed here, in the order of arrival. All others belong to the chains."""
LOOKING_COST = 64 * 1024
"""Bytes charged for a peer list (signatures to check) or a request for one (a search)."""


@dataclass(frozen=True, slots=True)
class PeerContext:
    """Objects shared by all connections of a network."""

    config: NetworkConfig
    counters: Counters
    pool: BytePool
    introductions: Introductions
    directory: Directory
    handler: MessageHandler
    strangers: UnknownPeerLimits
    is_known: Callable[[NodeID], bool]
    """Whether a node validates or was found at a tracked address."""


class Peer:
    """The node at the other end of a connection with TLS. `finished` is called after the handshake."""

    def __init__(
        self,
        stream: Stream,
        certificate_der: bytes,
        context: PeerContext,
        finished: Callable[["Peer"], None],
        *,
        outbound: bool,
    ) -> None:
        self.node_id: NodeID = node_id_of(certificate_der)
        self.outbound = outbound
        self.gone = asyncio.Event()
        """Set when its place is free for another connection to the same node."""
        self.facts: PeerVersionInfo | None = None
        """The claims of its handshake."""
        self.is_finished = False
        """Whether the handshake is finished."""
        self._certificate = certificate_der
        self._stream = stream
        self._context = context
        self._finished = finished
        self._loop = asyncio.get_running_loop()
        self._used = self._loop.time()
        """Time of its last message for a chain."""
        strangers, config = context.strangers, context.config
        self._throttle = ReadThrottle(
            config, strangers.unknown_peers, lambda: self.is_stranger, self._used
        )
        self._incoming = IncomingMessages(
            self.node_id, stream, self._throttle, context.pool, context.counters
        )
        self.outbox = Outbox(
            stream,
            context.counters,
            self._throttle,
            strangers.send_buffer,
            is_stranger=lambda: self.is_stranger,
            end=self.close,
        )
        self.work = Workload(
            self.node_id, context.handler, context.pool, config, lambda: self.is_stranger
        )
        self._reason: Exception | None = None
        self.task: asyncio.Task[object] | None = None
        """The task in `run`, None outside of it."""
        self._observed_uptime = 0
        self._connected_at = time.time()
        self._key_checked: bytes | None = None

    @property
    def is_stranger(self) -> bool:
        """Whether the peer is unknown: it does not validate, and this node does not dial it."""
        return not (self.outbound or self._context.is_known(self.node_id))

    @property
    def prefix(self) -> str:
        """The network in which its connections are counted."""
        return prefix_of(self._stream.host)

    @property
    def idle(self) -> float:
        """Seconds since its last message for a chain, or since it connected."""
        return self._loop.time() - self._used

    def info(self) -> PeerInfo:
        """Return the facts about this peer. The handshake must be finished."""
        assert self.facts is not None
        facts = self.facts
        return PeerInfo(
            node_id=self.node_id,
            ip=self._stream.address,
            public_ip=facts.claim.host_port,
            version=str(facts.version),
            upgrade_time=facts.upgrade_time,
            connected_at=self._connected_at,
            last_sent=self.outbox.last_sent,
            last_received=self._incoming.last_received,
            observed_uptime=self._observed_uptime,
            tracked_subnets=facts.tracked_subnets,
            supported_acps=facts.supported_acps,
            objected_acps=facts.objected_acps,
            outbound=self.outbound,
            known=not self.is_stranger,
        )

    def send(self, message: Message | PackedMessage) -> bool:
        """Send or queue a message; return False if that is impossible."""
        return self.outbox.send(message)

    def close(self, reason: Exception) -> None:
        """End the connection; `run` raises the reason."""
        if self._reason is None:
            self._reason = reason
            self.outbox.close()
            if self.task is not None:
                self.task.cancel()

    async def run(self) -> None:
        """Exchange messages until the connection ends; always raises the reason."""
        self.task = asyncio.current_task()
        timers = self._timers()
        try:
            await self._converse()
        except asyncio.CancelledError:
            if self._reason is None or self.task is None:
                raise
            self.task.uncancel()
            raise self._reason from None
        except Exception as error:
            raise self._reason or error from None
        finally:
            self.task = None
            self._throttle.end()
            for timer in timers:
                timer.cancel()

    # --- messages ---

    async def _converse(self) -> None:
        self.send(Message(handshake=self._context.introductions.handshake()))
        while True:
            # not assigned to a variable, which would keep the message alive until the next one arrives
            await self._take(await self._incoming.next())

    async def _take(self, held: HeldMessage | None) -> None:
        """Process a message, or start its processing. The lease ends when it is processed."""
        if held is None:
            return
        name, message, lease = held
        if name not in OF_THE_CONNECTION:
            self._used = self._loop.time()
            await self.work.begin(message, lease)
            return
        try:
            self._answer(name, message)
        finally:
            self._context.pool.give_back(lease)

    def _answer(self, name: str, message: Message) -> None:
        """Process a message that belongs to the connection."""
        match name:
            case "ping":
                self._take_ping(message.ping)
            case "handshake":
                self._take_handshake(message.handshake)
            case "peer_list" if self.facts is not None:
                self._take_peer_list(message.peer_list)
            case "get_peer_list" if self.is_finished:
                self._take_get_peer_list(message.get_peer_list)

    def _take_handshake(self, handshake: Handshake) -> None:
        if self.facts is not None:
            raise PeerError(PeerReason.SECOND_HANDSHAKE)
        introductions = self._context.introductions
        facts = introductions.check(handshake, self._certificate)
        # only the filter may be large, so it is not kept as long as the connection lasts
        self.facts = replace(facts, known_peers=EMPTY)
        self._key_checked = introductions.key_of(self.node_id)
        introductions.met(self._certificate, facts.claim)
        asker = Asker(self.node_id, facts.tracked_subnets, facts.all_subnets)
        self.send(introductions.peer_list(facts.known_peers, asker))

    def _take_peer_list(self, peer_list: PeerList) -> None:
        if not self.is_finished:
            self.is_finished = True
            self._incoming.early = False
            self._connected_at = time.time()
            self._finished(self)
        self._incoming.charge(LOOKING_COST)
        self._context.introductions.learn(peer_list)

    def _take_get_peer_list(self, request: GetPeerList) -> None:
        self._incoming.charge(LOOKING_COST)
        assert self.facts is not None, "the handshake is finished"
        asker = Asker(self.node_id, self.facts.tracked_subnets)
        answer = self._context.introductions.answer(request, asker)
        if answer is not None:
            self.send(answer)

    def _take_ping(self, ping: Ping) -> None:
        if ping.uptime > 100:
            raise PeerError(PeerReason.UPTIME_TOO_HIGH, uptime=ping.uptime)
        self._observed_uptime = ping.uptime
        self.send(Message(pong=Pong()))

    # --- timers ---

    def _timers(self) -> list[Watch | Repeat | asyncio.TimerHandle]:
        config = self._context.config
        return [
            self._loop.call_later(config.handshake_timeout, self._check_finished),
            Repeat(config.ping_interval, self._ping),
            Watch(
                config.read_timeout,
                lambda: self._incoming.waiting_since,
                lambda: self.close(TimedOut(PeerReason.NOTHING_READ, seconds=config.read_timeout)),
            ),
            Watch(
                config.read_timeout,
                lambda: self._stream.blocked_since,
                lambda: self.close(TimedOut(PeerReason.NOTHING_TAKEN, seconds=config.read_timeout)),
            ),
        ]

    def _check_finished(self) -> None:
        if not self.is_finished:
            self.close(
                TimedOut(
                    PeerReason.HANDSHAKE_TOO_SLOW, seconds=self._context.config.handshake_timeout
                )
            )

    def _ping(self) -> None:
        """Repeat the checks whose results may have changed, then ping."""
        if self.facts is not None:
            try:
                self._key_checked = self._context.introductions.check_again(
                    self.node_id, self.facts, self._key_checked
                )
            except Exception as error:  # any failed check ends the connection
                self.close(error)
                return
        uptime = self._context.directory.uptime_of(self.node_id)
        self.send(Message(ping=Ping(uptime=min(max(uptime, 0), 100))))

    def ask_for_peers(self, request: GetPeerList) -> None:
        """Request the addresses that the peer knows."""
        self.send(Message(get_peer_list=request))
