"""Ports of 127.0.0.1 for servers, out of the way of those that the system gives to connections.

A port that the system has just named as free may be a connection's by the time a server listens there:
nodes open many. Tests run in several processes, so each port is drawn by lot.
"""

import random
import socket
from pathlib import Path
from typing import Final

FIRST: Final = 10_000
TRIES: Final = 1_000
_GIVEN_BY_SYSTEM: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_lot: Final = random.SystemRandom()


class NoFreePort(Exception):
    """Of many ports none was free."""


def free_port() -> int:
    """Return a TCP port that nobody uses now. Raises NoFreePort."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """Return TCP ports that follow each other and that nobody uses now. Raises NoFreePort."""
    end = int(_GIVEN_BY_SYSTEM.read_text().split()[0])
    for _ in range(TRIES):
        first = _lot.randrange(FIRST, end - count)
        if all(map(_is_free, range(first, first + count))):
            return range(first, first + count)
    raise NoFreePort


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
