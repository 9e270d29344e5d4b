"""The key under which a rate limit counts a client.

Addresses in headers are trusted only as far as the operator's own proxies wrote them.
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_CLIENT_PREFIX_V6 = 64
"""A customer gets at least this prefix of IPv6, so all of it counts as one client."""


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The proxies in front of the node.

    Either `networks` (addresses or CIDR blocks of proxies), or `hops`: the number of proxies that every request
    passes through. Without either, the peer is the client.
    """

    networks: tuple[Network, ...] = ()
    hops: int = 0

    @classmethod
    def of(cls, *addresses: str, hops: int = 0) -> "TrustedProxies":
        """Parse addresses and networks as in the settings: `10.0.0.0/8`, `192.0.2.7`."""
        return cls(tuple(ipaddress.ip_network(text, strict=False) for text in addresses), hops)


_WITH_PORT: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5})")
"""An address in brackets, or an IPv4 address with a port; other addresses have no port."""

NO_PROXIES = TrustedProxies()


_MAX_FORWARDED_FOR: Final = 1024
"""Bytes at the end of `X-Forwarded-For` that are read. Proxies append, so their entries are the last."""


def client_key(peer: str, forwarded_for: bytes, proxies: TrustedProxies) -> str:
    """Return the client's address, or its /64 network for IPv6.

    Args:
        peer: the address at the other end of the socket; may be empty (Unix socket).
        forwarded_for: the `X-Forwarded-For` header, empty if missing.
        proxies: the trusted proxies.
    """
    # The cached values are short, and without trusted proxies the client cannot choose them.
    if not (proxies.hops or proxies.networks):
        forwarded_for = b""
    elif len(forwarded_for) > _MAX_FORWARDED_FOR:
        # The first address may be cut off, so it is ignored.
        forwarded_for = forwarded_for[-_MAX_FORWARDED_FOR:].partition(b",")[2]
    return _client_key(peer, forwarded_for, proxies)


@lru_cache(maxsize=4096)
def _client_key(peer: str, forwarded_for: bytes, proxies: TrustedProxies) -> str:
    addresses = [
        part.strip() for part in forwarded_for.decode("latin-1").split(",") if part.strip()
    ]
    hops = [*addresses, peer]
    if proxies.hops:
        return _group(hops[max(0, len(hops) - 1 - proxies.hops)])
    position = len(hops) - 1
    while position > 0 and _trusted(hops[position], proxies.networks):
        position -= 1
    return _group(hops[position])


def is_proxy(peer: str, proxies: TrustedProxies) -> bool:
    """Return whether a peer is one of the operator's proxies, through which many clients connect."""
    return bool(proxies.networks) and _trusted(peer, proxies.networks)


def _trusted(text: str, networks: tuple[Network, ...]) -> bool:
    address = _parse(text)
    return address is not None and any(address in network for network in networks)


def _parse(text: str) -> Address | None:
    """Parse an address, with or without a port; an IPv4 address inside IPv6 counts as IPv4.

    Parsing is strict: otherwise `[::1].example` would be taken for the proxy at `::1`.
    """
    match = _WITH_PORT.fullmatch(text)
    try:
        if match is not None:
            literal, plain = match.groups()
            address: Address = (
                ipaddress.IPv4Address(plain) if literal is None else ipaddress.IPv6Address(literal)
            )
        else:
            address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _group(text: str) -> str:
    """Unspecified: text that is not an address is its own group, so it cannot escape the limit."""
    address = _parse(text)
    if address is None:
        return text[:64]
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _CLIENT_PREFIX_V6), strict=False))
    return str(address)
