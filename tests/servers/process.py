"""A server's processes: started in their own process group, monitored, and ended together.

The group is ended by its ID. If the tests themselves are killed, the kernel kills the processes that they
started (`setpriv --pdeathsig`).
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.servers import warm

PATIENCE = 120.0
"""Seconds after which a server counts as failed: by then even a busy machine has finished."""


class ServerError(Exception):
    """A server of the tests failed."""


class ServerDied(ServerError):
    """A server ended before it was ready."""


class ServerNotReady(ServerError):
    """A server did not answer in time."""


class ServerWillNotEnd(ServerError):
    """A server did not end in time."""


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [pid, *(item for child in listed.stdout.split() for item in _family(int(child)))]


class ServerProcess:
    """A command in its own process group, with its output in a file."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: Path | None = None,
        is_warm: bool = False,
    ) -> None:
        """Start the command.

        Args:
            command: program and arguments.
            log: file for the output; a second start appends to it.
            env: the whole environment; by default that of this process.
            user: the user to run as, if this process may choose.
            cwd: the working directory.
            is_warm: whether a command of this Python has its packages already imported (`tests.servers.warm`).
        """
        self.log = log
        self.command = command
        self._process: subprocess.Popen[bytes] | warm.WarmProcess
        if is_warm:
            assert env is not None
            assert cwd is not None
            self._process = warm.start(command, log, env=env, cwd=cwd)
            return
        rights = [f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *rights, "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=env,
                cwd=cwd,
            )

    @property
    def pid(self) -> int:
        """The process ID, which is also the ID of the group."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the command itself still runs."""
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until the server is ready.

        Raises:
            ServerDied: The server ended instead.
            ServerNotReady: The server took too long.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.running:
                raise ServerDied(f"{self.command} ended:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ServerNotReady(f"{self.command} is not ready:\n{self.tail()}")
            time.sleep(0.02)

    def finish(self, seconds: float) -> None:
        """Wait until the command has finished successfully.

        Raises:
            ServerDied: The command failed.
            ServerWillNotEnd: The command took too long.
        """
        code = self.ending(seconds)
        if code:
            raise ServerDied(f"{self.command} failed with {code}:\n{self.tail()}")

    def ending(self, seconds: float) -> int:
        """Wait until the command has ended without being stopped; return its exit code, negative for a signal.

        Raises:
            ServerWillNotEnd: The command took too long.
        """
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerWillNotEnd(f"{self.command} does not end:\n{self.tail()}") from None

    def stop(self, seconds: float = PATIENCE, *, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the command to end, wait for it, and kill the rest of its group.

        Raises:
            ServerWillNotEnd: It did not end in time and was killed.
        """
        self.ask_to_end(how)
        self.wait_for_end(seconds)

    def ask_to_end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send the command a signal, unless it has already ended."""
        if self.running:
            self._process.send_signal(how)

    def wait_for_end(self, seconds: float = PATIENCE) -> None:
        """Wait until a command that was asked to end has ended, and kill the rest of its group.

        Raises:
            ServerWillNotEnd: It did not end in time and was killed.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ServerWillNotEnd(f"{self.command} does not end:\n{self.tail()}") from None
        finally:
            self.kill()

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the command and to all its descendants, including those in other groups."""
        for pid in _family(self.pid):
            with contextlib.suppress(ProcessLookupError):  # it has already ended
                os.kill(pid, number)

    def kill(self) -> None:
        """Kill the whole group (SIGKILL)."""
        with contextlib.suppress(ProcessLookupError):  # no process of the group is left
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def tail(self, lines: int = 40) -> str:
        """Return the end of the output."""
        text = self.log.read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])
