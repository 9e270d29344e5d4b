"""Decide which inbound connections are accepted, before anything is read from them (p2p.md 7). Pure.

`listener` reports the number of connections; the time is an argument.
"""

from collections import Counter, OrderedDict
from ipaddress import ip_address, ip_network

from network_app.config import NetworkConfig
from network_app.peers.errors import (
    NotWanted,
    PeerReason,
)
from network_app.peers.throttle import TokenBucket

PREFIX_BITS = {4: 24, 6: 64}
"""Prefix length by IP version. A single operator can easily own all hosts of such a network."""
LOOPBACK = "loopback"
"""The prefix of this machine's own addresses, which have no limit."""


class Arrivals:
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
