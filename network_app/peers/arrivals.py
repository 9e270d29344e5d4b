"""Which connections of others are let in, before anything of them is read (p2p.md 7). Pure.

What has come in and counts is told by `listener`; time is an argument.
"""

from collections import Counter, OrderedDict
from ipaddress import ip_address, ip_network

from network_app.config import NetworkConfig
from network_app.peers.errors import CameTooSoon, TooManyArrivals, TooManyInbound
from network_app.peers.throttle import TokenBucket

PREFIX_BITS = {4: 24, 6: 64}
"""Of an address, by IP version: what one operator easily has all hosts of."""
LOOPBACK = "loopback"
"""The prefix of this machine's own addresses, for which no limit holds."""


class Arrivals:
    """Decides over connections by how many there are, and by who came recently."""

    def __init__(self, config: NetworkConfig, now: float) -> None:
        self._config = config
        self._rate = TokenBucket(config.inbound_per_second, config.inbound_per_second, now)
        self._latest: OrderedDict[str, float] = OrderedDict()
        """When a host was let in, oldest first: as many as the rate lets in before they may again."""
        self._of_prefix: Counter[str] = Counter()
        """How many of those there are."""

    def admit(self, host: str, now: float, *, inbound: int) -> None:
        """Let a connection in that a host opened.

        Raises:
            TooManyInbound: So many strangers are there whose TLS is up. Some more than there are
                places for come in: they may be none, or wait to be turned away.
            CameTooSoon: The host was let in a moment ago, or many of its network were. Loopback may
                always come.
            TooManyArrivals: So many came in this second.
        """
        config = self._config
        if inbound >= config.max_inbound + config.max_half_open:
            raise TooManyInbound(config.max_inbound)
        self._forget(now)
        prefix = prefix_of(host)
        if host in self._latest:
            raise CameTooSoon(host, config.inbound_cooldown)
        if self._of_prefix[prefix] >= config.inbound_per_prefix:
            raise CameTooSoon(prefix, config.inbound_cooldown)
        if not self._rate.try_take(1, now):
            raise TooManyArrivals(config.inbound_per_second)
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
    """Return the network that a host is counted with: a /24, a /64, or LOOPBACK."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return LOOPBACK
    return str(ip_network((address, PREFIX_BITS[address.version]), strict=False))
