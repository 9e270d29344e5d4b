"""Listening sockets of a server: one for each address of a host."""

import errno
import socket
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Any, Final

Address = tuple[socket.AddressFamily, tuple[Any, ...]]
"""A family and an address for `socket.bind`."""

_ALL: Final = ("", "*")
"""Hosts that mean all addresses of the machine, in addition to `::`."""
_ATTEMPTS: Final = 5
"""Maximum number of free ports of one family that are tried in the other family."""
_ABSENT: Final = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}
"""Errors of a machine without IPv6, or without IPv4."""


def is_dual_stack(host: str) -> bool:
    """Return whether a host means all addresses of the machine, IPv4 and IPv6."""
    if host in _ALL:
        return True
    try:
        address = ip_address(unbracketed(host))
    except ValueError:
        return False
    return address.version == 6 and address.is_unspecified


def unbracketed(host: str) -> str:
    """Return a host without the brackets that IPv6 addresses have in URLs."""
    return host.removeprefix("[").removesuffix("]")


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets bound to each address of a host, all to the same port, not yet listening.

    Unspecified: `::`, `*` and an empty host mean all addresses, IPv4 and IPv6, with a socket for each
    family, so that IPv4 clients have IPv4 addresses. The reference has one socket for both. A family
    that the machine does not support is omitted.

    Args:
        host: A name, an address, or a host that means all addresses.
        port: The port; 0: any free port.

    Raises:
        socket.gaierror: The name cannot be resolved.
        OSError: An address is not this machine's, or the port is in use.
    """
    addresses = _addresses(host)
    attempts = 1 if port else _ATTEMPTS
    while True:
        attempts -= 1
        try:
            return _bind(addresses, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not attempts:
                raise


def _addresses(host: str) -> list[Address]:
    if is_dual_stack(host):
        return [(socket.AF_INET6, ("::", 0)), (socket.AF_INET, ("0.0.0.0", 0))]  # noqa: S104  # the operator's choice
    addresses = socket.getaddrinfo(
        unbracketed(host), 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return list(dict.fromkeys((family, address) for family, _, _, _, address in addresses))


def _bind(addresses: list[Address], port: int) -> list[socket.socket]:
    bound: list[socket.socket] = []
    absent: OSError | None = None
    with ExitStack() as unfinished:
        for family, (host, _, *scope) in addresses:
            try:
                sock = _bound_socket(family, (host, port, *scope))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
                continue
            bound.append(unfinished.enter_context(sock))
            port = sock.getsockname()[1]
        if absent is not None and not bound:
            raise absent
        unfinished.pop_all()
    return bound


def _bound_socket(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    with ExitStack() as unfinished:
        sock = unfinished.enter_context(socket.socket(family, socket.SOCK_STREAM))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        unfinished.pop_all()
    return sock
