"""Commands of the node in processes that have imported already what others have written.

Most of what a start costs is importing packages, and tests start many hundred processes. So one process imports them
once, and forks for each command; from there on the fork is `python manage.py …` or `python -m …`, with settings and
modules of its own. Starts that nobody has warmed are what the tests of `make run`, `make network`, the wheel and the
development node see.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WarmProcess:
    """A forked process: what `subprocess.Popen` is to one that was started, as far as tests need it."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid = pid
        self._told = told
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return how it has ended, as `Popen.returncode` has it, or None."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return how it was, negative by a signal.

        Raises:
            subprocess.TimeoutExpired: It has not ended.
        """
        if self._code is None:
            self._told.settimeout(timeout)
            try:
                said = self._told.recv(64)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0) from None
            self._told.close()
            self._code = int(said)
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def start(command: Sequence[str], log: Path, *, env: Mapping[str, str], cwd: Path) -> WarmProcess:
    """Start a command of this Python, in a process group of its own, its output in a file.

    Args:
        command: The interpreter, and a script or `-m` and a module, with arguments.
        log: Takes the output, behind what it has.
        env: The whole environment.
        cwd: Where it runs.
    """
    assert command[0] == sys.executable
    here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
    request = {"arguments": command[1:], "env": dict(env), "cwd": str(cwd)}
    with there, log.open("ab") as output:
        fds = [there.fileno(), output.fileno()]
        socket.send_fds(_warm(), [json.dumps(request).encode()], fds)
        pid = int(here.recv(64))
    return WarmProcess(pid, here)


@cache
def _warm() -> socket.socket:
    """Return the way to the process that forks, which ends with this one."""
    here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
    # It must not read the settings of the tests: its forks have their own.
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NODE_") and name != "DJANGO_SETTINGS_MODULE"
    }
    with there:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.warming", str(there.fileno())],
            cwd=ROOT,
            env=env,
            pass_fds=[there.fileno()],
            start_new_session=True,
        )
    here.recv(64)  # it is warm

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here
