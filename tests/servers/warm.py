"""Commands of the node in processes that have already imported third-party packages.

Most of the start-up time is spent on imports, and tests start many hundred processes. So one process imports
the packages once and forks for each command; from then on the fork behaves like `python manage.py …` or
`python -m …`, with its own settings and modules. The tests of `make run`, `make network`, the wheel and the
development node start real processes.
"""

import atexit
import contextlib
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
    """A forked process, with the part of the interface of `subprocess.Popen` that tests need."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid = pid
        self._told = told
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code in the format of `Popen.returncode`, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code, negative for a signal.

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
        """Send the process a signal, unless it has already ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)


def start(command: Sequence[str], log: Path, *, env: Mapping[str, str], cwd: Path) -> WarmProcess:
    """Start a command of this Python in its own process group, with its output in a file.

    Args:
        command: The interpreter, and a script or `-m` and a module, with arguments.
        log: File to which the output is appended.
        env: The whole environment.
        cwd: The working directory.
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
    """Return a socket to the process that forks, which ends with this one."""
    here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
    # It must not read the settings of the tests, because its forks have their own.
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
    here.recv(64)  # the imports are done

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here
