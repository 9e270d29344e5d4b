"""The processes of a local network's nodes: they are started, stopped, paused and watched.

They are children of the command that runs the network, and only that command signals them: the kernel gives the
ID of a child to no other process before the parent has waited for the child's end.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from primitives.product import BASE_DIR
from primitives.whole_files import open_private

GRACE = 30.0
"""Seconds within which a stopped node must end."""
LOG, LAST_LOG = "node.log", "node.log.1"
"""Log files in each node's directory: of the current run, and of the one before."""
_TAIL = 4096
"""Bytes at the end of a log that are searched for its last line."""


class RequestRefused(Exception):
    """A request is impossible in the node's current state; the message says why."""


class State(StrEnum):
    """The state of a node's process."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ENDED = "ended"
    """Unexpectedly: on its own, or by a signal from outside."""


class NetworkNodeProcess:
    """One node's process, in its own session: Ctrl-C only reaches this command, which then ends the node.

    Args:
        name: The node's name in messages.
        directory: The directory of the logs.
        command: The command that runs the node.
        env: Its whole environment.
    """

    def __init__(
        self, name: str, directory: Path, command: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self.name = name
        self.state = State.STOPPED
        self.ending = ""
        """A description of its unexpected end."""
        self._directory = directory
        self._command = command
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        self._patience = 0.0

    @property
    def log(self) -> Path:
        """The log of the current run."""
        return self._directory / LOG

    @property
    def pid(self) -> int | None:
        """The process's ID while the process exists."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the node, or resume a paused one.

        Raises:
            RequestRefused: The node runs already, or is being stopped.
        """
        if self.state is State.PAUSED:
            self._signal(signal.SIGCONT)
            self.state = State.RUNNING
            return
        if self._process is not None:
            raise RequestRefused(
                f"{self.name} runs already"
                if self.state is State.RUNNING
                else f"{self.name} is being stopped: start it when that is done"
            )
        if self.log.exists():
            self.log.replace(self._directory / LAST_LOG)
        with open_private(self.log) as log:
            log.truncate()
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                [*_ending_with_us(), *self._command],
                cwd=BASE_DIR,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.state, self.ending = State.RUNNING, ""

    def stop(self) -> None:
        """Ask the node to end; `check` kills it if that takes longer than `GRACE`.

        Raises:
            RequestRefused: The node does not run.
        """
        self._require_process()
        if self.state is State.STOPPING:
            raise RequestRefused(f"{self.name} is being stopped already")
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a paused process would never handle SIGTERM
        self.state = State.STOPPING
        self._patience = time.monotonic() + GRACE

    def pause(self) -> None:
        """Freeze the node: its connections stay open, but it answers no requests.

        Raises:
            RequestRefused: The node does not run.
        """
        self._require_process()
        if self.state is not State.RUNNING:
            raise RequestRefused(f"{self.name} is {self.state} already")
        self._signal(signal.SIGSTOP)
        self.state = State.PAUSED

    def check(self) -> bool:
        """Update the state from the process; return whether the process has just ended unexpectedly."""
        if self._process is None:
            return False
        code = self._process.poll()
        if code is None:
            if self.state is State.STOPPING and time.monotonic() > self._patience:
                self._signal(signal.SIGKILL)
            return False
        self._process = None
        asked = self.state is State.STOPPING
        self.state = State.STOPPED if asked else State.ENDED
        self.ending = "" if asked else in_words(code)
        return not asked

    def last_line(self) -> str:
        """Return the last line of the current log, without control characters."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(-min(_TAIL, os.fstat(log.fileno()).st_size), os.SEEK_END)
            line = log.read().decode(errors="replace").strip().rpartition("\n")[2]
            return "".join(filter(str.isprintable, line))
        return ""

    def _require_process(self) -> None:
        if self.state is State.ENDED:
            raise RequestRefused(f"{self.name} has ended already: {self.ending}")
        if self._process is None:
            raise RequestRefused(f"{self.name} is stopped already")

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the node and to its child processes."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def stop_all(processes: Sequence[NetworkNodeProcess]) -> None:
    """Ask all nodes to end, and return when all have ended."""
    for process in processes:
        with contextlib.suppress(RequestRefused):
            process.stop()
    while any(process.pid is not None for process in processes):
        for process in processes:
            process.check()
        time.sleep(0.05)


def in_words(code: int) -> str:
    """Describe how a process ended.

    Args:
        code: Its exit code, or the negated number of the signal that ended it.
    """
    if code >= 0:
        return f"it ended by itself with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name} (signal {-code})"
    except ValueError:
        return f"it was ended by signal {-code}"


def _ending_with_us() -> list[str]:
    """Return a command prefix with which the kernel ends a node if this command is killed; empty without the tool."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []
