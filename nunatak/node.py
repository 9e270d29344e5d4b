"""A node to test against: one that runs somewhere, or one of our own in a process with a data directory.

NodeFailed
├── NodeEnded      the process ended before it answered
└── NodeSilent     it runs and does not answer
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

from typing_extensions import override

from nunatak.rpc import Unreachable, call
from primitives.whole_files import open_private

PATIENCE: Final = 180.0
"""Seconds for a start, and for an end: a busy machine takes some of them."""
TRIES: Final = 5
"""Starts with other ports, where somebody else took one between its choice and its use."""
LINES: Final = 30
"""Of the log in an error's message."""


class NodeFailed(Exception):
    """The node did not start; the message ends with its log's last lines."""


class NodeEnded(NodeFailed):
    """Its process ended before it answered."""


class NodeSilent(NodeFailed):
    """It runs, but did not answer in time."""


class Node:
    """A node as its clients know it: by its URLs."""

    def __init__(self, url: str) -> None:
        """Speak to a node that runs.

        Args:
            url: Where its C-Chain answers JSON-RPC over HTTP.
        """
        self.url = url

    @property
    def base_url(self) -> str:
        """Where all of its interfaces are below, the admin too: `http://HOST:PORT`."""
        return urljoin(self.url, "/").rstrip("/")

    @property
    def ws_url(self) -> str:
        """Where its C-Chain answers over WebSocket."""
        return f"ws{self.base_url.removeprefix('http')}/ext/bc/C/ws"

    @property
    def platform_url(self) -> str:
        """Where its P-Chain answers JSON-RPC over HTTP."""
        return f"{self.base_url}/ext/bc/P"

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method of the C-Chain and return its result.

        Raises:
            RpcError: The node answered with an error.
            Unreachable: It did not answer.
        """
        return call(self.url, method, *params)


class NodeProcess(Node, AbstractContextManager["NodeProcess"]):
    """A node of our own, on free ports of this machine, which ends with the `with` block."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        """Prepare a node; `start` or `with` starts it.

        Args:
            directory: Takes its data and its log; a chain that is there is gone on with.
            settings: `NODE_…` variables as docs/settings.md has them, besides directory and ports.
        """
        super().__init__("")
        self.directory = directory
        self.log = directory / "node.log"
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the node and wait until it answers.

        Raises:
            NodeEnded: It ended instead.
            NodeSilent: It took too long; it was ended.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        for tries_left in reversed(range(TRIES)):
            self._launch(*_free_ports(2))
            try:
                self._wait()
            except NodeEnded:
                if not tries_left or "cannot listen on" not in self._tail():
                    raise
            except NodeSilent:
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """End the node, in good order if it can, and wait for that."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @override
    def __enter__(self) -> "NodeProcess":
        self.start()
        return self

    @override
    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _launch(self, http_port: int, staking_port: int) -> None:
        self.url = f"http://127.0.0.1:{http_port}/ext/bc/C/rpc"
        settings = {
            "NODE_DATA_DIR": str(self.directory.resolve() / "data"),
            "NODE_HTTP_PORT": str(http_port),
            "NODE_STAKING_PORT": str(staking_port),
            **self._settings,
        }
        with open_private(self.log) as log:
            log.truncate()
            # A session of its own: Ctrl-C is for the tests, which end the node when they are done with it.
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                # -P: what lies in the directory of the tests must not be taken for a part of the node.
                [*_ending_with_us(), sys.executable, "-P", "-m", "nodeproject"],
                cwd=self.directory,
                env={**_environment(), **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait(self) -> None:
        assert self._process is not None, "it was launched"
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None:
                code, self._process = self._process.returncode, None
                raise NodeEnded(f"the node ended with {code} before it answered:\n{self._tail()}")
            if time.monotonic() > until:
                raise NodeSilent(f"the node does not answer at {self.url}:\n{self._tail()}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            # Soon given up: who listens there may be somebody else, who took the port and says nothing.
            call(self.url, "eth_chainId", seconds=2)
        except Unreachable:
            return False
        return True

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LINES:])


def _environment() -> dict[str, str]:
    """Return this process's environment without what is meant for another node or another Django project."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NODE_") and name != "DJANGO_SETTINGS_MODULE"
    }


def _ending_with_us() -> list[str]:
    """Return what has the kernel end a command when this process dies, where the system has the tool."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []


def _free_ports(count: int) -> list[int]:
    """Return ports of the loopback address that nobody uses now, each another one."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
