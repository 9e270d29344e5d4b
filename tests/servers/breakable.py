"""A server that tests stop, kill, freeze, and restart on the same port with the same files."""

import signal
from collections.abc import Callable

from tests.servers.process import ServerProcess


class Breakable:
    """Base class of such servers: the process and its restart."""

    port: int
    _process: ServerProcess
    _start: Callable[[], ServerProcess]
    _end_by: signal.Signals = signal.SIGTERM
    """The signal that ends it gracefully while clients are connected."""

    def stop_process(self) -> None:
        """Stop the server gracefully and keep its files."""
        self._process.stop(how=self._end_by)

    def kill_process(self) -> None:
        """Kill the server and all its child processes (SIGKILL)."""
        self._process.signal_all(signal.SIGKILL)
        self._process.kill()

    def freeze(self) -> None:
        """Suspend the server: it keeps its connections but responds to no client."""
        self._process.signal_all(signal.SIGSTOP)

    def bring_back(self) -> None:
        """Resume a frozen server, or start one that has ended."""
        if self._process.running:
            self._process.signal_all(signal.SIGCONT)
        else:
            self._process = self._start()
