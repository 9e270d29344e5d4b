"""A server that tests stop, kill and freeze, and bring back on the same port with what it had on disk."""

import signal
from collections.abc import Callable

from tests.servers.process import ServerProcess


class Breakable:
    """What such servers share: their process, and how it is started again."""

    port: int
    _process: ServerProcess
    _start: Callable[[], ServerProcess]
    _end_by: signal.Signals = signal.SIGTERM
    """How it is ended in order while clients are connected."""

    def stop_process(self) -> None:
        """End the server in order; its files stay."""
        self._process.stop(how=self._end_by)

    def kill_process(self) -> None:
        """End the server and all that it has started at once (SIGKILL)."""
        self._process.signal_all(signal.SIGKILL)
        self._process.kill()

    def freeze(self) -> None:
        """Let the server stand still: it keeps its connections, and answers nobody."""
        self._process.signal_all(signal.SIGSTOP)

    def bring_back(self) -> None:
        """Let a frozen server go on, or start one that has ended."""
        if self._process.running:
            self._process.signal_all(signal.SIGCONT)
        else:
            self._process = self._start()
