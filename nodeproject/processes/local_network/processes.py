"""The processes of a local network's nodes: each is started, stopped, paused, and watched.

They are children of the command that runs the network, and nobody else signals them: the ID of a child is
not given to another process before its parent has heard of its end.
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

from nodeproject.startup.installation import BASE_DIR
from primitives.whole_files import open_private

GRACE = 30.0
"""Seconds that a node has to end."""
LOG, LAST_LOG = "node.log", "node.log.1"
"""In each node's directory: of this run, and of the one before."""
_TAIL = 4096
"""Bytes at the end of a log among which its last line is looked for."""


class Refused(Exception):
    """What is asked for cannot be done as the node stands; the message says why."""


class State(StrEnum):
    """What a node's process does."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ENDED = "ended"
    """By itself, or by somebody else's signal."""


class NodeProcess:
    """One node's process, in a session of its own: Ctrl-C reaches this command alone, which ends the node.

    Args:
        name: As messages have it.
        directory: Takes the logs.
        command: What runs the node.
        env: Its whole environment.
    """

    def __init__(
        self, name: str, directory: Path, command: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self.name = name
        self.state = State.STOPPED
        self.ending = ""
        """How it ended by itself, in words."""
        self._directory = directory
        self._command = command
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        self._patience = 0.0

    @property
    def log(self) -> Path:
        """What this run has written."""
        return self._directory / LOG

    @property
    def pid(self) -> int | None:
        """The process's ID while it is there."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the node, or let a paused one go on.

        Raises:
            Refused: It runs already, or is about to end.
        """
        if self.state is State.PAUSED:
            self._signal(signal.SIGCONT)
            self.state = State.RUNNING
            return
        if self._process is not None:
            raise Refused(
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
        """Ask the node to end; `look` kills it when that takes longer than `GRACE`.

        Raises:
            Refused: It does not run.
        """
        self._require_process()
        if self.state is State.STOPPING:
            raise Refused(f"{self.name} is being stopped already")
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a paused one would never hear that it is to end
        self.state = State.STOPPING
        self._patience = time.monotonic() + GRACE

    def pause(self) -> None:
        """Freeze the node as it is: its connections stay, and it answers nobody.

        Raises:
            Refused: It does not run.
        """
        self._require_process()
        if self.state is not State.RUNNING:
            raise Refused(f"{self.name} is {self.state} already")
        self._signal(signal.SIGSTOP)
        self.state = State.PAUSED

    def look(self) -> bool:
        """Notice what has become of the process; say whether it has just ended by itself."""
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
        """Return the last line of this run's log, without what would steer a terminal."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(-min(_TAIL, os.fstat(log.fileno()).st_size), os.SEEK_END)
            line = log.read().decode(errors="replace").strip().rpartition("\n")[2]
            return "".join(filter(str.isprintable, line))
        return ""

    def _require_process(self) -> None:
        if self.state is State.ENDED:
            raise Refused(f"{self.name} has ended already: {self.ending}")
        if self._process is None:
            raise Refused(f"{self.name} is stopped already")

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the node and to whatever it has started."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def stop_all(processes: Sequence[NodeProcess]) -> None:
    """Ask all nodes to end, and return when none is left."""
    for process in processes:
        with contextlib.suppress(Refused):
            process.stop()
    while any(process.pid is not None for process in processes):
        for process in processes:
            process.look()
        time.sleep(0.05)


def in_words(code: int) -> str:
    """Say how a process ended.

    Args:
        code: What it returned, or below 0 the signal that ended it.
    """
    if code >= 0:
        return f"it ended by itself with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name} (signal {-code})"
    except ValueError:
        return f"it was ended by signal {-code}"


def _ending_with_us() -> list[str]:
    """Return what has the kernel end a node when this command is killed, where there is such a tool."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []
