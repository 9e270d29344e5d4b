"""Who has a TCP connection, or listens: as the kernel tells it (Linux)."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

LISTENING: Final = 0x0A
"""A socket's state, by the kernel's numbers."""


class Entry(NamedTuple):
    """A socket, from the side whose port is `port`."""

    port: int
    peer: int
    """The other side's port."""
    state: int
    inode: str


def entries(table: str = "tcp") -> Iterator[Entry]:
    """Yield all of this machine's (of its network namespace): those of IPv4, or `tcp6`."""
    for line in Path("/proc/net", table).read_text().splitlines()[1:]:
        fields = line.split()
        ports = (int(one.rpartition(":")[2], 16) for one in fields[1:3])
        yield Entry(*ports, int(fields[3], 16), fields[9])


def listeners(port: int, table: str = "tcp") -> int:
    """Return how many sockets listen on a port, of IPv4 or of `tcp6`."""
    return sum(one.port == port and one.state == LISTENING for one in entries(table))


def has_connection(pid: int, port: int, peer: int) -> bool:
    """Return whether a process has the end at `port` of a connection."""
    wanted = {f"socket:[{one.inode}]" for one in entries() if (one.port, one.peer) == (port, peer)}
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed just now
            if os.readlink(descriptor) in wanted:
                return True
    return False
