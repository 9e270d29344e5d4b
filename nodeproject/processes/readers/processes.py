"""The readers of a writer: each is started with its socket, listened to, and started again after it has died."""

import logging
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb.chains import C_CHAIN, is_left_out
from nodeproject.heads.shared_memory import HeadPage
from nodeproject.node import Node
from nodeproject.processes.readers.handover import HandedOver, receive
from primitives.installation import as_process

PAUSE: Final = 0.2
"""Seconds before a dead reader is started again; doubled up to `LONGEST_PAUSE` while it dies soon after its start."""
LONGEST_PAUSE: Final = 10.0
_LIVED: Final = 30.0
"""Seconds of lifetime after which a death does not count as soon after the start."""
_GRACE: Final = 10.0
"""Seconds that a reader has to end."""

_log: Final = logging.getLogger(__name__)

Adopt = Callable[[HandedOver], object]
"""Takes over a connection, in any thread."""


def wanted_readers(node: Node) -> int:
    """Return the number of readers for a node: 0 if readers could answer nothing.

    Rate-limited calls must be counted in one place, and a fork writes the data that it fetches; no chain becomes a fork.
    """
    settings = node.settings
    answers = (
        not is_left_out(C_CHAIN)
        and not settings.requests_per_second
        and node.evm_chain.fork is None
    )
    return settings.common.web_workers - 1 if answers else 0


class Readers:
    """The readers of this process.

    Args:
        chain: The chain to read; its memory publishes changes on the page from now on.
        sockets: The sockets of each reader, bound to the port. They stay open here, so that no connection is refused
            while a reader is started again.
    """

    def __init__(self, chain: EvmChain, sockets: Sequence[Sequence[socket.socket]]) -> None:
        self._page = HeadPage()
        self._ending = threading.Event()
        self._readers = [_ReaderProcess(item, self._page, self._ending) for item in sockets]
        chain.memory.blocks.before_move = self._page.tell_head
        chain.memory.on_change = chain.memory.on_rewind = self._page.tell_change
        chain.memory.pool.on_change = self._page.tell_pool
        with suppress(blocks.NoGenesis):  # published as soon as it exists
            blocks.catch_up(chain)
        head = chain.memory.blocks.head
        if (
            head is not None and self._page.height != head.number
        ):  # this process was at the head already
            self._page.tell_head(head.number)

    def start(self, adopt: Adopt) -> None:
        """Start the readers; connections that they hand over are passed to `adopt`."""
        for reader in self._readers:
            reader.start(adopt)

    def stop(self) -> None:
        """End the readers, and release the port."""
        self._ending.set()
        for reader in self._readers:
            reader.tell_to_end()

    def join(self) -> None:
        """Wait until all readers have ended."""
        for reader in self._readers:
            reader.join()


class _ReaderProcess:
    """One reader, and the thread that manages it."""

    def __init__(
        self, listening: Sequence[socket.socket], page: HeadPage, ending: threading.Event
    ) -> None:
        self._listening = listening
        self._page = page
        self._ending = ending
        self._line: socket.socket | None = None
        self._lock = threading.Lock()
        """Held while the socket to the reader is opened or closed."""
        self._thread: threading.Thread | None = None

    def start(self, adopt: Adopt) -> None:
        self._thread = threading.Thread(target=self._run, args=[adopt], name="reader", daemon=True)
        self._thread.start()

    def tell_to_end(self) -> None:
        with self._lock:
            for item in self._listening:
                item.close()
            if self._line is not None:
                with suppress(OSError):  # the reader may just have died
                    self._line.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(2 * _GRACE)

    def _run(self, adopt: Adopt) -> None:
        pause = PAUSE
        while True:
            began = time.monotonic()
            ended = self._live(adopt)
            lived = time.monotonic() - began
            pause = PAUSE if lived > _LIVED else min(2 * pause, LONGEST_PAUSE)
            # A shutdown of all processes of a node may reach a reader before this process.
            if self._ending.wait(pause):
                return
            _log.warning("a reader %s; restarting it", ended)

    def _live(self, adopt: Adopt) -> str:
        """Start the process, and take over connections until it has ended; return a description of its end."""
        try:
            process = self._begin()
        except (
            OSError
        ) as error:  # no memory or descriptor: its listening socket is open, and clients wait there
            return f"could not be started: {error}"
        if process is None:
            return "was not started"
        self._hear(adopt)
        return f"has ended ({_end_of(process)})"

    def _begin(self) -> subprocess.Popen[bytes] | None:
        """Start the process; return None during a shutdown.

        Raises:
            OSError: It cannot be started now.
        """
        with self._lock:
            if self._ending.is_set():
                return None
            line, theirs = socket.socketpair()
            listening = [item.fileno() for item in self._listening]
            given = (theirs.fileno(), self._page.descriptor, *listening)
            with theirs, ExitStack() as unstarted:
                unstarted.enter_context(line)
                process = subprocess.Popen(  # noqa: S603  # our own command
                    as_process("runreader", *map(str, given)),
                    pass_fds=given,
                    stdin=subprocess.DEVNULL,
                )
                unstarted.pop_all()
            self._line = line
            return process

    def _hear(self, adopt: Adopt) -> None:
        """Take over connections until the reader has ended."""
        line = self._line
        assert line is not None
        with suppress(OSError):
            for item in receive(line):
                adopt(item)
        with self._lock:
            line.close()
            self._line = None


def _end_of(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a process whose socket is closed."""
    try:
        return process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
