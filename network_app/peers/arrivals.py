"""Which connections of others are let in, before anything of them is read (p2p.md 7). Pure.

What has come in and counts is told by `listener`; time is an argument.
"""

from collections import OrderedDict
from ipaddress import ip_address

from network_app.config import NetworkConfig
from network_app.peers.errors import CameTooSoon, TooManyArrivals, TooManyHalfOpen, TooManyInbound
from network_app.peers.throttle import TokenBucket


class Arrivals:
    """Decides over connections by how many there are, and by who came lately."""

    def __init__(self, config: NetworkConfig, now: float) -> None:
        self._config = config
        self._rate = TokenBucket(config.inbound_per_second, config.inbound_per_second, now)
        self._latest: OrderedDict[str, float] = OrderedDict()
        """When a host was let in, oldest first: as many as the rate lets in before they may again."""

    def admit(self, host: str, now: float, *, half_open: int, inbound: int) -> None:
        """Let a connection in that a host opened.

        Raises:
            TooManyHalfOpen: So many have no TLS yet.
            TooManyInbound: So many are there. Some more than the limit come in, those without TLS:
                a validator among them will find a place.
            CameTooSoon: The host was let in a moment ago. Loopback may always come.
            TooManyArrivals: So many came in this second.
        """
        config = self._config
        if half_open >= config.max_half_open:
            raise TooManyHalfOpen(config.max_half_open)
        if inbound >= config.max_inbound + config.max_half_open:
            raise TooManyInbound(config.max_inbound)
        self._forget(now)
        if host in self._latest:
            raise CameTooSoon(host, config.inbound_cooldown)
        if not self._rate.try_take(1, now):
            raise TooManyArrivals(config.inbound_per_second)
        if not is_loopback(host):
            self._latest[host] = now

    def __len__(self) -> int:
        return len(self._latest)

    def _forget(self, now: float) -> None:
        while self._latest:
            host, at = next(iter(self._latest.items()))
            if now - at < self._config.inbound_cooldown:
                return
            del self._latest[host]


def is_loopback(host: str) -> bool:
    """Say whether a host's address is its own machine's."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
