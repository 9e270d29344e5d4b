"""Resources, tuning and termination of a node's process: data directory, port, threads, garbage collection."""

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
from enum import StrEnum
from pathlib import Path

from jsonrpc.limits.connections import ConnectionLimits
from primitives.reasons import ErrorWithReason
from primitives.sockets import bound_sockets

SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread lets another one run. With Python's default of 5 ms an answer would
wait for the block that its transaction has triggered in the worker's thread."""


DJANGO_THREADS = 8
"""Requests that Django processes concurrently in one process."""


COLLECTOR = (20_000, 20, 50)
"""Thresholds of Python's garbage collector: long-lived objects are examined less often than by default."""


KEPT_MEMORY = 8 * 1024 * 1024
"""Bytes at the end of a heap that the C library keeps for later allocations, and the largest block that it
allocates there."""

HEAPS = 2
"""Heaps of the C library that all threads share. By default each thread gets its own, up to eight per processor, and each
keeps the memory of its largest answer and of SQLite's pages: 10 MiB more after a load, without being faster."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Numbers of glibc's parameters (its manual, Malloc Tunable Parameters)."""


MAX_CONNECTIONS = 16_384
"""Default limit: an idle connection needs about 10 KiB, so every machine can hold this many."""
LONGEST_BACKLOG = 4096


class StartReason(StrEnum):
    """Why a node cannot start, and what to do."""

    UNOPENABLE = "{file} cannot be opened: {cause}"
    DIRECTORY_IN_USE = (
        "another node runs on {directory}: stop it, or give this one its own NODE_DATA_DIR"
    )
    PORT_IN_USE = "cannot listen on {place}:{port} ({cause}): choose another {setting}"
    NOT_OUR_ADDRESS = "cannot listen on {host!r} ({cause}): choose another {setting}"
    # A new file would create a different node.
    MISSING_FILE = (
        "{setting} names {path}, which does not exist; without the setting the node creates its own"
    )
    NO_IDENTITY = (
        "{path} is missing, and the database belongs to a node that has it: copy {directory} and secret_key from another "
        "machine of the node, or run init_node here to make a new identity"
    )
    HALF_AN_IDENTITY = "NODE_STAKING_CERT_FILE and NODE_STAKING_KEY_FILE belong together: set both"
    UNUSABLE_CERTIFICATE = "{certificate} and {key} hold no certificate and its key: {cause}"
    DATABASE_UNUSABLE = "{database} cannot be used ({cause}): check that the server runs, or correct NODE_DATABASE_URL"
    DATABASE_ENCODING = (
        "{database} has the encoding {encoding}, in which not every name can be stored: make one "
        "with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
    )
    DATABASE_OF_LATER_VERSION = (
        "the database was written by {written}, and this is version {here}{differing}: run {written}, "
        "or name another NODE_DATA_DIR or NODE_DATABASE_URL"
    )
    STATE_NEEDS_LOCAL_CHAIN = "NODE_STATE, NODE_LOAD_STATE and NODE_DUMP_STATE need a local chain whose blocks only this node makes"
    STATE_NEEDS_EMBEDDED_PROFILE = "NODE_STATE, NODE_LOAD_STATE and NODE_DUMP_STATE need the embedded profile (NODE_PROFILE=embedded)"
    STATE_UNUSABLE = "the state cannot be loaded: {path}: {cause}"
    IPC_UNUSABLE = "NODE_IPC cannot be used: {path}: {cause}"
    CONFIG_OUT_HAS_KEYS = (
        "NODE_CONFIG_OUT is only for the local network, because the file contains private keys"
    )
    CONFIG_OUT_UNWRITABLE = "NODE_CONFIG_OUT cannot be written: {path}: {cause}"


class CannotStart(ErrorWithReason):
    """The node cannot start here; the message says why and what to do."""


@contextmanager
def claim_directory(directory: Path) -> Iterator[None]:
    """Lock a data directory, because the caches of an embedded node are only valid if it is alone there.

    Raises:
        CannotStart: The directory cannot be written, or another process holds the lock, which the kernel releases
            when that process ends.
    """
    try:
        file = (directory / "lock").open("w")
    except OSError as error:
        raise CannotStart(
            StartReason.UNOPENABLE, file=error.filename, cause=error.strerror
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CannotStart(StartReason.DIRECTORY_IN_USE, directory=directory) from error
        yield


def check_port(host: str, port: int, setting: str, host_setting: str = "host") -> None:
    """Verify that a server can listen on a port, before the output says that it does.

    Args:
        host: The address.
        port: The port; 0 is always free.
        setting: The variable that names the port.
        host_setting: The variable that names the address.

    Raises:
        CannotStart: The machine has no such address, or the port is in use or not allowed.
    """
    for bound in _bound(host, port, setting, host_setting):
        bound.close()


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return the HTTP sockets, one for each address of the host.

    Raises:
        CannotStart: The machine has no such address, or another program has taken the port since the check.
    """
    return _bound(host, port, "NODE_HTTP_PORT", "NODE_HTTP_HOST")


def _bound(host: str, port: int, setting: str, host_setting: str) -> list[socket.socket]:
    place = f"[{host}]" if ":" in host else host or "*"
    try:
        return bound_sockets(host, port)
    except (socket.gaierror, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotStart(
            StartReason.NOT_OUR_ADDRESS, host=host, cause=reason, setting=host_setting
        ) from error
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        if error.errno == errno.EADDRNOTAVAIL:
            raise CannotStart(
                StartReason.NOT_OUR_ADDRESS, host=host, cause=reason, setting=host_setting
            ) from error
        raise CannotStart(
            StartReason.PORT_IN_USE, place=place, port=port, cause=reason, setting=setting
        ) from error
    except OverflowError as error:
        raise CannotStart(
            StartReason.PORT_IN_USE, place=place, port=port, cause="no port", setting=setting
        ) from error


MACOS_DESCRIPTORS = (65_536, 10_240)
"""Numbers of open files that are tried where the hard limit is none that the kernel accepts. macOS allows the last one
(OPEN_MAX) always; a process there begins with 256."""


def raise_descriptors() -> None:
    """Raise this process's limit of open files as far as the system allows: each connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, *MACOS_DESCRIPTORS):
        if wanted != hard and (soft == resource.RLIM_INFINITY or wanted <= soft):
            return
        # Even without a limit for the process the kernel has one; macOS then refuses every number above it.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def backlog() -> int:
    """Return how many connections may wait to be accepted: there must be descriptors for all of them together."""
    return min(LONGEST_BACKLOG, _descriptors() // 8)


def connection_limits(most: int, of_address: int) -> ConnectionLimits:
    """Return the limits on connections.

    They leave descriptors for files, databases and a full backlog, because without a descriptor a server
    cannot even refuse a connection.

    Args:
        most: The requested limit; 0 for the default.
        of_address: The limit for one address; 0 for three quarters of all connections.
    """
    possible = _descriptors() - backlog() - max(256, _descriptors() // 8)
    most = max(1, min(most or MAX_CONNECTIONS, possible))
    return ConnectionLimits(most, min(of_address or most * 3 // 4 or 1, most))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def tune() -> None:
    """Switch threads often, keep freed memory, and exclude the objects loaded so far from garbage collection.

    Blocks of a thousand transactions create many short-lived objects; with the default thresholds
    a full collection over all modules would happen in every second block. The objects loaded so far are not
    collected either: one in a hundred is garbage, and finding it takes a tenth of a start.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    _keep_memory()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*COLLECTOR)


def _keep_memory() -> None:
    """Make the C library, if it is glibc, keep the memory that long answers were in, and share it among threads.

    By default it returns the end of its heap to the kernel as soon as some hundred kilobytes are free, and the
    kernel then provides empty pages again for the next copy: a thousand logs took five times as long.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_MEMORY)
        mallopt(_MMAP_THRESHOLD, KEPT_MEMORY)
        mallopt(_ARENA_MAX, HEAPS)


class Termination:
    """Ends this process on SIGTERM until its server handles that signal.

    Python ignores an exception that a signal handler raises during a finalizer; the signal is therefore recorded, and
    raised again when the server listens and handles signals itself.
    """

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self._asked = True
        sys.exit(0)

    def once_more(self) -> None:
        """Raise the signal again if it has arrived and the process is still running."""
        if self._asked:
            signal.raise_signal(signal.SIGTERM)
