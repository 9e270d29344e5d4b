"""The sender of a request, as far as it decides which methods may be called: its web page, and its machine.

A web page in a browser reaches servers that only its user can reach, such as a node on 127.0.0.1. Browsers name the
page in the Origin header of each POST request and of each WebSocket opening; programs send no such header.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, NamedTuple

MAX_ORIGIN: Final = 512
"""Bytes of the longest origin: a scheme, a host and a port, with a margin."""

_FORWARDED: Final = frozenset(
    {
        b"forwarded",
        b"via",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-prefix",
        b"x-forwarded-proto",
        b"x-real-ip",
    }
)
"""Headers that proxies add."""

_NAMING: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://(\*\.)?(\[[0-9a-f:.]+\]|[^*:/\[\]]+)(:([0-9]+|\*))?", re.IGNORECASE
)
"""A pattern that names a host, perhaps with all its subdomains or ports."""


class Caller(NamedTuple):
    """The sender of a request."""

    origin: bytes
    """The web page's origin, as the browser names it (`null` for pages that have none); empty for a program."""
    is_remote: bool
    """Whether the request comes from another machine, directly or through a proxy."""


INTERNAL_CALLER: Final = Caller(b"", is_remote=False)
"""This process itself."""
UNKNOWN_CALLER: Final = Caller(b"null", is_remote=True)
"""A sender about which nothing is known."""

Guard = Callable[[Caller, Sequence[Any]], None]
"""Takes a caller and the arguments of a call. Raises `JsonRpcError` if this caller may not make this call."""


def caller_of(headers: Mapping[bytes, bytes], peer: str) -> Caller:
    """Return the sender of a request.

    Unspecified: only loopback addresses count as this machine, and only where no proxy has left a header.

    Args:
        headers: The request's headers, with names in lower case.
        peer: The address at the other end of the socket; empty where it is not known.
    """
    is_remote = not is_loopback(peer) or not _FORWARDED.isdisjoint(headers)
    return Caller(headers.get(b"origin", b""), is_remote)


def is_match(origin: str, patterns: Sequence[str]) -> bool:
    """Return whether an origin matches a pattern; a `*` inside matches any part of a host and a port."""
    return "*" in patterns or any(
        re.fullmatch(r"[a-z0-9._:-]*".join(map(re.escape, pattern.lower().split("*"))), origin)
        for pattern in patterns
    )


def is_named(origin: bytes, patterns: Sequence[str]) -> bool:
    """Return whether a pattern names the host of an origin.

    `*`, `null`, `https://*` and `https://example.*` name no host: anyone can have a page with a matching origin.
    """
    if len(origin) > MAX_ORIGIN:
        return False
    return is_match(origin.decode("latin-1").lower(), naming(patterns))


def naming(patterns: Sequence[str]) -> list[str]:
    """Return the patterns that name a host."""
    return [pattern for pattern in patterns if _NAMING.fullmatch(pattern)]


def shown(caller: Caller) -> str:
    """Return a caller's origin for messages."""
    return ascii(caller.origin[:128].decode("latin-1"))


def is_loopback(peer: str) -> bool:
    """Return whether the address at the other end of a socket is this machine's."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
