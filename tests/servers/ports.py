"""Ports of 127.0.0.1 for servers, outside the range that the system uses for connections.

A port that the system has just reported as free may belong to a connection before a server listens on it,
because nodes open many connections. Tests run in several processes, so each port is chosen at random and
reserved until the process that chose it ends: a server starts to listen some seconds later, and does not
listen during a restart.
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
"""The ports that this process has reserved."""


class NoFreePort(Exception):
    """No free port was found in many attempts."""


def free_port() -> int:
    """Return an unused TCP port that is given to no other test. Raises NoFreePort."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """Return consecutive TCP ports like those of `free_port`. Raises NoFreePort."""
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
    """Reserve a port for this process; return false if it is already reserved."""
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
    """Return a file with a byte for each port, on which each process locks its reserved ports."""
    return (Path(tempfile.gettempdir()) / f"node-test-ports-{os.getuid()}").open("ab")


@cache
def has_ipv6() -> bool:
    """Return whether this machine has the IPv6 loopback address."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
