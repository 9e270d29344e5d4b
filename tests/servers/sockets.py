"""TCP connections and listeners as the kernel reports them (Linux)."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

LISTENING: Final = 0x0A
"""The kernel's number of a socket state."""


class Entry(NamedTuple):
    """A socket, seen from the side of `port`."""

    port: int
    peer: int
    """The port of the other side."""
    state: int
    inode: str


def entries(table: str = "tcp") -> Iterator[Entry]:
    """Yield all sockets of this network namespace: of IPv4, or of `tcp6`."""
    for line in Path("/proc/net", table).read_text().splitlines()[1:]:
        fields = line.split()
        ports = (int(field.rpartition(":")[2], 16) for field in fields[1:3])
        yield Entry(*ports, int(fields[3], 16), fields[9])


def listeners(port: int, table: str = "tcp") -> int:
    """Return the number of sockets that listen on a port, of IPv4 or of `tcp6`."""
    return sum(entry.port == port and entry.state == LISTENING for entry in entries(table))


def has_connection(pid: int, port: int, peer: int) -> bool:
    """Return whether a process owns the end at `port` of a connection."""
    wanted = {
        f"socket:[{entry.inode}]" for entry in entries() if (entry.port, entry.peer) == (port, peer)
    }
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was just closed
            if os.readlink(descriptor) in wanted:
                return True
    return False
