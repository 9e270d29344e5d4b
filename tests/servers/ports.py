"""Ports of 127.0.0.1 for servers, out of the way of those that the system gives to connections.

A port that the system has just named as free may be a connection's by the time a server listens there:
nodes open many. Tests run in several processes, so each port is drawn by lot, and kept from all others as
long as the process lives that drew it: a server listens some seconds later, and not while it is started
again.
"""

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

FIRST: Final = 10_000
TRIES: Final = 1_000
_GIVEN_BY_SYSTEM: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_lot: Final = random.SystemRandom()
_kept: Final[set[int]] = set()
"""What this process has drawn."""


class NoFreePort(Exception):
    """Of many ports none was free."""


def free_port() -> int:
    """Return a TCP port that nobody uses now, and that no test is given again. Raises NoFreePort."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """Return TCP ports that follow each other, as `free_port` does. Raises NoFreePort."""
    end = int(_GIVEN_BY_SYSTEM.read_text().split()[0])
    for _ in range(TRIES):
        first = _lot.randrange(FIRST, end - count)
        ports = range(first, first + count)
        if all(map(_is_free, ports)) and all(map(_keep, ports)):
            return ports
    raise NoFreePort


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _keep(port: int) -> bool:
    """Take a port for this process, unless it was given to somebody already."""
    if port in _kept:
        return False
    try:
        fcntl.lockf(_book(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _kept.add(port)
    return True


@cache
def _book() -> BinaryIO:
    """Return a file of which each byte stands for a port: a process locks those that it was given."""
    return (Path(tempfile.gettempdir()) / f"node-test-ports-{os.getuid()}").open("ab")


@cache
def has_ipv6() -> bool:
    """Return whether this machine has the IPv6 loopback address."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
