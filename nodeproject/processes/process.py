"""What a process of the node claims, how it is tuned and how it ends: data directory, port, threads, garbage."""

import contextlib
import ctypes
import errno
import fcntl
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jsonrpc.limits.connections import ConnectionLimits
from primitives.sockets import bound_sockets

SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread lets another one run. With Python's own 5 ms an answer would
wait for the block that its transaction has set off in the worker's thread."""


COLLECTOR = (20_000, 20, 50)
"""Thresholds of Python's collector: fewer looks than by default at objects that stay."""


KEPT_MEMORY = 8 * 1024 * 1024
"""Bytes at the end of a heap that the C library keeps for what is allocated next, and of the longest block that it
takes from there."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's parameters (its manual, Malloc Tunable Parameters)."""


MOST_CONNECTIONS = 16_384
"""An idle connection needs about 10 KiB: so many are bearable everywhere."""
LONGEST_BACKLOG = 4096


class CannotStart(Exception):
    """The node cannot start here; the message says why and what to do."""


class DirectoryInUse(CannotStart):
    """Another embedded node runs on the data directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"another node runs on {directory}: stop it, or give this one its own NODE_DATA_DIR"
        )


class PortInUse(CannotStart):
    """Somebody listens on the port, or it may not be listened on."""

    def __init__(self, host: str, port: int, reason: str, setting: str) -> None:
        place = f"[{host}]" if ":" in host else host or "*"
        super().__init__(f"cannot listen on {place}:{port} ({reason}): choose another {setting}")


class NotOurAddress(CannotStart):
    """This machine has no such address."""

    def __init__(self, host: str, reason: str, setting: str) -> None:
        super().__init__(f"cannot listen on {host!r} ({reason}): choose another {setting}")


@contextmanager
def claim_directory(directory: Path) -> Iterator[None]:
    """Hold a data directory: what an embedded node remembers is only true when it is alone there.

    Raises:
        CannotStart: The directory cannot be written.
        DirectoryInUse: Another process holds it. The kernel lets go of it when a process ends.
    """
    try:
        file = (directory / "lock").open("w")
    except OSError as error:
        raise CannotStart(f"{error.filename} cannot be opened: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DirectoryInUse(directory) from error
        yield


def check_port(host: str, port: int, setting: str, host_setting: str = "host") -> None:
    """See that a server can listen there, before anything says that it does.

    Args:
        host: The address.
        port: The port; 0 is always free.
        setting: The variable that names the port.
        host_setting: The variable that names the address.

    Raises:
        NotOurAddress: The machine has no such address.
        PortInUse: It cannot.
    """
    for bound in _bound(host, port, setting, host_setting):
        bound.close()


def listening_sockets(host: str, port: int, count: int = 1) -> list[list[socket.socket]]:
    """Return the sockets of HTTP for some processes, each with one for each address of a host.

    The kernel spreads connections over the processes once they listen.

    Raises:
        NotOurAddress: The machine has no such address.
        PortInUse: Another program has taken the port since it was free.
    """
    found: list[list[socket.socket]] = []
    for _ in range(count):
        found.append(_bound(host, port, "NODE_HTTP_PORT", "NODE_HTTP_HOST", shared=count > 1))
        port = found[0][0].getsockname()[1]
    return found


def _bound(
    host: str, port: int, setting: str, host_setting: str, *, shared: bool = False
) -> list[socket.socket]:
    try:
        return bound_sockets(host, port, shared=shared)
    except (socket.gaierror, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotOurAddress(host, reason, host_setting) from error
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        if error.errno == errno.EADDRNOTAVAIL:
            raise NotOurAddress(host, reason, host_setting) from error
        raise PortInUse(host, port, reason, setting) from error
    except OverflowError as error:
        raise PortInUse(host, port, "no port", setting) from error


def raise_descriptors() -> None:
    """Allow this process as many open files as the system lets it have: each connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Where there is no limit the kernel has one of its own all the same.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def backlog() -> int:
    """Return how many connections may wait to be accepted: all at once they must find descriptors."""
    return min(LONGEST_BACKLOG, _descriptors() // 8)


def connection_limits(most: int, of_address: int) -> ConnectionLimits:
    """Return how many connections there may be.

    So many that files, databases and a whole backlog still find descriptors: without one a server
    cannot even refuse.

    Args:
        most: What was asked for; 0 for as many as is reasonable.
        of_address: What one address may have; 0 for three quarters of all.
    """
    possible = _descriptors() - backlog() - max(256, _descriptors() // 8)
    most = max(1, min(most or MOST_CONNECTIONS, possible))
    return ConnectionLimits(most, min(of_address or most * 3 // 4 or 1, most))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def tune() -> None:
    """Let threads take turns quickly, keep freed memory, and keep what is loaded now out of the collector's sight.

    Blocks of a thousand transactions make many objects that live for a moment; with the default
    thresholds a full collection over all modules falls into every second block.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    _keep_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR)


def _keep_memory() -> None:
    """Have the C library keep memory that long answers were in, if it is glibc.

    By default it gives the end of its heap back as soon as some hundred kilobytes are free there, and the kernel
    hands out empty pages again for the next copy: a thousand logs took five times as long.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_MEMORY)
        mallopt(_MMAP_THRESHOLD, KEPT_MEMORY)


class Termination:
    """Ends this process on SIGTERM while no server of it answers that signal.

    Python ignores an exception that a signal's handler raises in the midst of a finalizer. So the signal is
    remembered, and given once more when the server listens and answers signals itself.
    """

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self._asked = True
        sys.exit(0)

    def once_more(self) -> None:
        """Give the signal again if it has come and the process goes on nevertheless."""
        if self._asked:
            signal.raise_signal(signal.SIGTERM)
