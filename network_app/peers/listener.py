"""Inbound connections: accepted or rejected before TLS costs anything (p2p.md 1, 7)."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from ipaddress import ip_address, ip_network

from OpenSSL import SSL

from network_app.config import NetworkConfig
from network_app.peers.errors import NotWanted, PeerReason
from network_app.peers.stream import Stream
from network_app.peers.throttle import TokenBucket
from network_app.peers.tls import accepting
from primitives.sockets import bound_sockets

PREFIX_BITS = {4: 24, 6: 64}
"""Prefix length by IP version. A single operator can easily own all hosts of such a network."""
LOOPBACK = "loopback"
"""The prefix of this machine's own addresses, which have no limit."""


class InboundThrottle:
    """Accepts or rejects connections by their number and by the time of the host's last connection."""

    def __init__(self, config: NetworkConfig, now: float) -> None:
        self._config = config
        self._rate = TokenBucket(config.inbound_per_second, config.inbound_per_second, now)
        self._latest: OrderedDict[str, float] = OrderedDict()
        """When each host was last accepted, oldest first. Holds only hosts still in their cooldown."""
        self._of_prefix: Counter[str] = Counter()
        """Number of those hosts in each network."""

    def admit(self, host: str, now: float, *, inbound: int) -> None:
        """Accept a connection that a host opened.

        Raises:
            NotWanted: There are too many unknown peers whose TLS handshake is complete. The limit here is above
                the number of places, because a connection may turn out to be from a known peer, or may still be
                waiting to be rejected. Or the host, or too many hosts of its network, connected a moment ago
                (loopback addresses are exempt). Or too many connections were opened in this second.
        """
        config = self._config
        if inbound >= config.max_inbound + config.max_half_open:
            raise NotWanted(PeerReason.TOO_MANY_INBOUND, limit=config.max_inbound)
        self._forget(now)
        prefix = prefix_of(host)
        if host in self._latest:
            raise NotWanted(PeerReason.CAME_TOO_SOON, host=host, seconds=config.inbound_cooldown)
        if self._of_prefix[prefix] >= config.inbound_per_prefix:
            raise NotWanted(PeerReason.CAME_TOO_SOON, host=prefix, seconds=config.inbound_cooldown)
        if not self._rate.try_take(1, now):
            raise NotWanted(PeerReason.TOO_MANY_ARRIVALS, limit=config.inbound_per_second)
        if prefix != LOOPBACK:
            self._latest[host] = now
            self._of_prefix[prefix] += 1

    def __len__(self) -> int:
        return len(self._latest)

    def _forget(self, now: float) -> None:
        while self._latest:
            host, at = next(iter(self._latest.items()))
            if now - at < self._config.inbound_cooldown:
                return
            del self._latest[host]
            prefix = prefix_of(host)
            self._of_prefix[prefix] -= 1
            if not self._of_prefix[prefix]:
                del self._of_prefix[prefix]


def prefix_of(host: str) -> str:
    """Return the network in which a host is counted: a /24, a /64, or LOOPBACK."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return LOOPBACK
    return str(ip_network((address, PREFIX_BITS[address.version]), strict=False))


BACKLOG = 128
"""Connections that the operating system queues while the loop is busy."""


class Listener:
    """Listens on an address. `arrived` is called with each accepted connection."""

    def __init__(
        self,
        context: SSL.Context,
        config: NetworkConfig,
        buffer: bytearray,
        arrived: Callable[[Stream], None],
        turned_away: Callable[[NotWanted], None],
    ) -> None:
        self._context = context
        self._config = config
        self._buffer = buffer
        self._arrived = arrived
        self._turned_away = turned_away
        self._throttle = InboundThrottle(config, time.monotonic())
        self._servers: list[asyncio.Server] = []
        self._inside: set[Stream] = set()
        self._strangers: set[Stream] = set()
        """Accepted connections that count against the limit: all until their peer turns out to be known."""
        self._half_open: dict[Stream, str] = {}
        """Connections without TLS, oldest first, with the prefix of their address."""

    async def bind(self, host: str, port: int) -> int:
        """Bind to an address; return the port, which is a free one if `port` is 0.

        Raises:
            OSError: The address is not available.
        """
        loop = asyncio.get_running_loop()
        for bound in bound_sockets(host, port):
            server = await loop.create_server(
                self._stream, sock=bound, backlog=BACKLOG, start_serving=False
            )
            self._servers.append(server)
        return int(self._servers[0].sockets[0].getsockname()[1])

    async def serve(self) -> None:
        """Start to listen."""
        for server in self._servers:
            await server.start_serving()

    def stop(self) -> None:
        """Stop listening. Established connections stay open.

        Since Python 3.12 the server's `wait_closed` would wait for them, and they end later.
        """
        while self._servers:
            self._servers.pop().close()

    async def turn_out(self) -> None:
        """Close the accepted connections that have no task yet."""
        for stream in list(self._inside):
            stream.abort()
            await stream.closed.wait()
            self.left(stream)

    @property
    def half_open(self) -> int:
        """Number of connections without a completed TLS handshake."""
        return len(self._half_open)

    @property
    def inside(self) -> int:
        """Number of accepted connections that have not ended."""
        return len(self._inside)

    @property
    def seated(self) -> int:
        """Number of unknown peers with completed TLS. Connections without TLS have their own limit."""
        return len(self._strangers) - len(self._half_open)

    def secured(self, stream: Stream) -> None:
        """Note that a connection's TLS handshake is complete."""
        self._half_open.pop(stream, None)

    def takes_no_place(self, stream: Stream) -> None:
        """Note that a connection counts no longer: its peer is known, or its place is already free."""
        self._strangers.discard(stream)

    def left(self, stream: Stream) -> None:
        """Note that a connection has ended."""
        self._half_open.pop(stream, None)
        self._strangers.discard(stream)
        self._inside.discard(stream)

    def _stream(self) -> Stream:
        return Stream(lambda: accepting(self._context), self._config, self._buffer, self._admit)

    def _admit(self, stream: Stream) -> bool:
        try:
            self._throttle.admit(stream.host, time.monotonic(), inbound=self.seated)
        except NotWanted as reason:
            self._turned_away(reason)
            return False
        self._inside.add(stream)
        self._strangers.add(stream)
        self._half_open[stream] = prefix_of(stream.host)
        if len(self._half_open) > self._config.max_half_open:
            self._close_half_open()
        asyncio.get_running_loop().call_soon(self._arrived, stream)
        return True

    def _close_half_open(self) -> None:
        """Close the oldest one of the network with most connections: silent hosts must not block others."""
        ((fullest, _),) = Counter(self._half_open.values()).most_common(1)
        oldest = next(stream for stream, prefix in self._half_open.items() if prefix == fullest)
        del self._half_open[oldest]
        self._strangers.discard(oldest)
        oldest.abort(NotWanted(PeerReason.TOO_MANY_HALF_OPEN, limit=self._config.max_half_open))
