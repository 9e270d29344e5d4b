"""This node's connections as the higher layers see them: `ports.PeerNetwork` (p2p.md 1 to 7).

This module combines the parts. `peer` reads a peer's messages; `connection_tasks` starts and ends connections.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from network_app.config import NetworkConfig
from network_app.handshake.claims import NodeClaim, sign_ip
from network_app.peers import tls
from network_app.peers.connection_tasks import ConnectionTasks
from network_app.peers.counters import Counters
from network_app.peers.dialer import ConnectionLifetime, DialAddress, Dialer
from network_app.peers.errors import PeerError, PeerReason
from network_app.peers.introductions import Introductions
from network_app.peers.keepalive import Repeat
from network_app.peers.listener import Listener
from network_app.peers.members import NetworkMembers
from network_app.peers.peer import PeerContext
from network_app.peers.roster import Roster
from network_app.peers.stream import CHUNK, Stream
from network_app.peers.throttle import BytePool, StakeAllocations
from network_app.peers.unknown_peers import UnknownPeerLimits
from network_app.ports import DialFailure, Directory, MessageHandler, NetworkTotals, PeerInfo
from network_app.wire import framing
from network_app.wire.framing import PackedMessage
from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID
from primitives.node_identity import NodeIdentity

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NetworkTasks:
    """The objects that exist between start and stop."""

    port: int
    introductions: Introductions
    connection_tasks: ConnectionTasks
    discovery: Repeat


class PeerNetwork:
    """All connections, on the event loop that calls `start`. It can be started once.

    Args:
        identity: This node's keys.
        config: Limits and periods.
        directory: The validators.
        listen: Host and port; port 0 is a free one.
        advertised: IP and port that peers receive; port 0 is the port that is listened on.
        tracked: Addresses that are always dialled, whichever nodes listen there (bootstrappers).
        subnets: Returns the subnets that this node tracks.
        joined: Returns those of them to whose validators this node connects.
    """

    def __init__(
        self,
        identity: NodeIdentity,
        config: NetworkConfig,
        directory: Directory,
        *,
        listen: tuple[str, int],
        advertised: tuple[str, int],
        tracked: Sequence[tuple[str, int]] = (),
        subnets: Callable[[], Collection[ID]] = tuple,
        joined: Callable[[], Collection[ID]] = tuple,
    ) -> None:
        self.counters = Counters()
        self._identity = identity
        self._config = config
        self._directory = directory
        self._subnets = subnets
        self._members = NetworkMembers(directory, joined)
        self._listen = listen
        self._advertised = advertised
        self._tracked = [DialAddress(*address) for address in tracked]
        self._context = tls.make_context(identity)
        self._buffer = bytearray(CHUNK)
        self.roster = Roster(identity.node_id, config)
        """The connected peers."""
        self._dialer = Dialer(config, self._dial, self.roster.absent)
        self._listener = Listener(
            self._context, config, self._buffer, self._arrived, self.counters.connection_ended
        )
        self._running: NetworkTasks | None = None

    async def start(self, handler: MessageHandler) -> None:
        """Listen, and start to dial.

        Args:
            handler: Receives the events of peers and the messages of the chains.

        Raises:
            OSError: The address to listen on is not available.
        """
        port = await self._listener.bind(*self._listen)
        introductions = Introductions(
            self._claim(port),
            self._config,
            self._directory,
            is_tracked=self._dialer.is_tracked,
            news=self._dial_validators,
            subnets=self._subnets,
            joined=self._members.joined,
        )
        self._running = NetworkTasks(
            port=port,
            introductions=introductions,
            connection_tasks=ConnectionTasks(
                self._shared(introductions, handler), self.roster, self._listener
            ),
            discovery=Repeat(self._config.peer_list_interval, self._discover),
        )
        self._dialer.track(self._tracked)
        await self._listener.serve()
        _log.debug("%s listens on port %d", self.node_id, port)

    async def stop(self) -> None:
        """End all tasks and close all sockets."""
        running, self._running = self._running, None
        self._listener.stop()
        await self._dialer.stop()
        if running is not None:
            running.discovery.cancel()
            await running.connection_tasks.stop()
        await self._listener.turn_out()

    # --- interface for the higher layers ---

    @property
    def node_id(self) -> NodeID:
        """This node's ID."""
        return self._identity.node_id

    @property
    def port(self) -> int:
        """The port that is listened on, after the start."""
        assert self._running is not None
        return self._running.port

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        """Return the peers whose handshake is currently finished."""
        return self.roster.connected()

    def tracked_nodes(self) -> Mapping[tuple[str, int], NodeID]:
        """Return the nodes found at the tracked addresses, including this node itself."""
        return self._dialer.found

    def tracked_peers(self) -> set[NodeID]:
        """Return the connected nodes that were found at tracked addresses."""
        return {node_id for node_id in self._dialer.tracked if self.roster.get(node_id)}

    def dial_failures(self) -> list[DialFailure]:
        """Return why tracked addresses cannot be reached, without the connected ones."""
        return self._dialer.failures(self.connected())

    def known_addresses(self) -> int:
        """Return the number of nodes whose address is known."""
        return len(self._running.introductions) if self._running is not None else 0

    def send(self, node_id: NodeID, message: Message | PackedMessage) -> bool:
        """Send or queue a message; return False if the peer is not connected or its queue is full."""
        peer = self.roster.get(node_id)
        if peer is None:
            name = framing.kind(message) if isinstance(message, Message) else message.kind
            self.counters.send_failed(name)
            return False
        return peer.send(message)

    def totals(self) -> NetworkTotals:
        """Return the sums of the counters."""
        return self.counters.totals()

    # --- internals ---

    def _is_validator(self, node_id: NodeID) -> bool:
        return node_id in self._directory.validators()

    def _is_known(self, node_id: NodeID) -> bool:
        """Return whether a node is known: it validates, also a subnet, or was found at a tracked address."""
        return node_id in self._members or self._dialer.is_tracked(node_id)

    def _claim(self, port: int) -> NodeClaim:
        """Sign this node's address, once for each start."""
        host, advertised_port = self._advertised
        own = self._identity
        claim = sign_ip(
            ip_address(host),
            advertised_port or port,
            int(time.time()),
            tls_key=own.tls_key,
            bls_secret=own.bls_secret,
        )
        return NodeClaim(own.node_id, own.certificate_der, claim)

    def _shared(self, introductions: Introductions, handler: MessageHandler) -> PeerContext:
        return PeerContext(
            config=self._config,
            counters=self.counters,
            pool=BytePool(
                self._config, StakeAllocations(self._config, self._directory).of, self._is_known
            ),
            introductions=introductions,
            directory=self._directory,
            handler=handler,
            strangers=UnknownPeerLimits(
                self._config, lambda: [peer.outbox for peer in self.roster]
            ),
            is_known=self._is_known,
        )

    def _arrived(self, stream: Stream) -> None:
        if self._running is None:
            stream.abort()
        else:
            self._running.connection_tasks.arrive(stream)

    async def _dial(
        self, address: DialAddress, met: Callable[[NodeID], None]
    ) -> ConnectionLifetime:
        """Connect to an address and return when the connection has ended."""
        seconds = self._config.dial_timeout
        try:
            async with asyncio.timeout(seconds):
                stream = await self._connect(address)
        except TimeoutError:
            return self._not_reached(f"no answer in {seconds:g} s")
        except OSError as error:
            return self._not_reached(error.strerror or str(error))
        except ValueError as error:  # an invalid host name
            return self._not_reached(str(error))
        if self._running is None:
            stream.abort()
            return self._not_reached("stopped")
        return await self._running.connection_tasks.dialled(stream, met)

    async def _connect(self, address: DialAddress) -> Stream:
        _, stream = await asyncio.get_running_loop().create_connection(
            lambda: Stream(lambda: tls.dialling(self._context), self._config, self._buffer),
            *address,
            local_addr=self._source(address),
        )
        return stream

    def _source(self, address: DialAddress) -> tuple[str, int] | None:
        """Return the local address to dial from: the address that is listened on, if it is a specific one.

        Unspecified: the reference lets the system choose. With a fixed address, firewalls that know a node by
        its address recognize it, and nodes on one machine can be distinguished.
        """
        host, _ = self._listen
        try:
            own, other = ip_address(host), ip_address(address.host)
        except ValueError:
            return None  # a host name
        if own.is_unspecified or own.version != other.version:
            return None
        if own.is_loopback and not other.is_loopback:
            return None  # other machines cannot be reached from a loopback address
        return host, 0

    def _not_reached(self, reason: str) -> ConnectionLifetime:
        lost = PeerError(PeerReason.NOT_REACHED, cause=reason)
        self.counters.connection_ended(lost)
        return ConnectionLifetime(lost)

    def _dial_validators(self) -> None:
        if self._running is not None:
            self._dialer.want(self._running.introductions.addresses())

    def _discover(self) -> None:
        """Dial the current validators, and ask a connected one for more addresses."""
        if self._running is None:
            return
        self._dial_validators()
        # built in any case, because building it also discards nodes that no longer validate
        request = self._running.introductions.request()
        talking = self.roster.talking()
        validators = [peer for peer in talking if self._is_validator(peer.node_id)]
        if validators:
            secrets.choice(validators).ask_for_peers(request)
