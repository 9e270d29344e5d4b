"""A server's processes: started in a group of their own, watched, and ended together.

The group is ended by its id. Should the tests themselves be killed, the kernel ends what they
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
"""Seconds until a server is given up: it has something to do on a busy machine, or it hangs."""


class ServerError(Exception):
    """A server of the tests did not do what the tests need."""


class ServerDied(ServerError):
    """A server ended before it was ready."""


class ServerNotReady(ServerError):
    """A server did not answer in time."""


class ServerWillNotEnd(ServerError):
    """A server is still there after its time to end."""


def resident_bytes(pid: int) -> int:
    """Return how much memory a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _family(pid: int) -> list[int]:
    """Return a process and all that come from it."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [pid, *(one for child in listed.stdout.split() for one in _family(int(child)))]


class ServerProcess:
    """One command in a process group of its own, its output in a file."""

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
            log: takes the output; a second start goes on in the same file.
            env: the whole environment; this process's own when left out.
            user: whose rights it gets, where this process may choose.
            cwd: where it runs.
            is_warm: whether a command of this Python has its packages imported already (`tests.servers.warm`).
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
        """The process id, which is the group's too."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the command itself still runs."""
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until the server is ready.

        Raises:
            ServerDied: It ended instead.
            ServerNotReady: It took too long.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.running:
                raise ServerDied(f"{self.command} ended:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ServerNotReady(f"{self.command} is not ready:\n{self.tail()}")
            time.sleep(0.02)

    def finish(self, seconds: float) -> None:
        """Wait until the command has done its work.

        Raises:
            ServerDied: It failed.
            ServerWillNotEnd: It took too long.
        """
        code = self.ending(seconds)
        if code:
            raise ServerDied(f"{self.command} failed with {code}:\n{self.tail()}")

    def ending(self, seconds: float) -> int:
        """Wait until the command has ended by itself, and return how: negative by a signal.

        Raises:
            ServerWillNotEnd: It took too long.
        """
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerWillNotEnd(f"{self.command} does not end:\n{self.tail()}") from None

    def stop(self, seconds: float = PATIENCE, *, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the command to end, wait for it, and end what is left of its group.

        Raises:
            ServerWillNotEnd: It did not end in time; it was killed.
        """
        self.ask_to_end(how)
        self.wait_for_end(seconds)

    def ask_to_end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send the command a signal, unless it has ended."""
        if self.running:
            self._process.send_signal(how)

    def wait_for_end(self, seconds: float = PATIENCE) -> None:
        """Wait until a command that was asked has ended, and end what is left of its group.

        Raises:
            ServerWillNotEnd: It did not end in time; it was killed.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ServerWillNotEnd(f"{self.command} does not end:\n{self.tail()}") from None
        finally:
            self.kill()

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the command and to all that it has started, in groups of their own too."""
        for pid in _family(self.pid):
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, number)

    def kill(self) -> None:
        """End the whole group at once, without asking (SIGKILL)."""
        with contextlib.suppress(ProcessLookupError):  # nobody of the group is left
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def tail(self, lines: int = 40) -> str:
        """Return the end of the output."""
        text = self.log.read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])
