"""A node to test against: a running node, or one started in a child process with its own data directory.

NodeFailed
├── NodeEnded      the process exited before it answered
└── NodeSilent     the process runs but does not answer
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
from primitives.bearer import read_tokens
from primitives.whole_files import open_private

PATIENCE: Final = 180.0
"""Timeout in seconds for a start and for a stop; generous, because a busy machine is slow at both."""
TRIES: Final = 5
"""Attempts to start with other ports, in case another process takes a port between its choice and its use."""
LINES: Final = 30
"""Lines of the log that an error message contains."""


class NodeFailed(Exception):
    """The node did not start; the message ends with its log's last lines."""


class NodeEnded(NodeFailed):
    """The process exited before it answered."""


class NodeSilent(NodeFailed):
    """The process runs but did not answer in time."""


class Node:
    """A node as its clients see it: a set of URLs."""

    def __init__(self, url: str, token_file: Path | None = None) -> None:
        """Connect to a running node.

        Args:
            url: URL of its C-Chain's JSON-RPC interface over HTTP.
            token_file: File with the token that its RPC interfaces need, as NODE_RPC_TOKEN_FILE; None: they need none.

        Raises:
            TokenFileError: The file cannot be used.
        """
        self.url = url
        self.headers: Mapping[str, str] = (
            {} if token_file is None else {"Authorization": f"Bearer {read_tokens(token_file)[0]}"}
        )
        """The headers that each request needs, over HTTP and WebSocket."""

    @property
    def base_url(self) -> str:
        """The common prefix of the URLs of all interfaces, including the admin: `http://HOST:PORT`."""
        return urljoin(self.url, "/").rstrip("/")

    @property
    def ws_url(self) -> str:
        """The URL of its C-Chain's WebSocket interface."""
        return f"ws{self.base_url.removeprefix('http')}/ext/bc/C/ws"

    @property
    def platform_url(self) -> str:
        """The URL of its P-Chain's JSON-RPC interface over HTTP."""
        return f"{self.base_url}/ext/bc/P"

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method of the C-Chain and return its result.

        Raises:
            RpcError: The node answered with an error.
            Unreachable: The node did not answer.
        """
        return call(self.url, method, *params, headers=self.headers)


class NodeProcess(Node, AbstractContextManager["NodeProcess"]):
    """A node in a child process, on free ports of this machine, which stops when the `with` block ends."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        """Prepare a node; `start` or `with` starts it.

        Args:
            directory: Directory for the node's data and log; a chain that exists there is resumed.
            settings: `NODE_…` variables as in docs/settings.md, except the data directory and the ports.
        """
        token_file = (settings or {}).get("NODE_RPC_TOKEN_FILE")
        super().__init__("", Path(token_file) if token_file else None)
        self.directory = directory
        self.log = directory / "node.log"
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the node and wait until it answers.

        Raises:
            NodeEnded: The node exited before it answered.
            NodeSilent: The node did not answer in time and was stopped.
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
        """Stop the node, gracefully if possible, and wait until it has exited."""
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
            # A session of its own: Ctrl-C must reach only the tests, which stop the node when they are done.
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                # -P: modules in the directory of the tests must not shadow modules of the node.
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
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            # Short timeout: another process may have taken the port, and may accept connections without answering.
            call(self.url, "eth_chainId", seconds=2, headers=self.headers)
        except Unreachable:
            return False
        return True

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LINES:])


def _environment() -> dict[str, str]:
    """Return this process's environment without variables meant for another node or Django project."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NODE_") and name != "DJANGO_SETTINGS_MODULE"
    }


def _ending_with_us() -> list[str]:
    """Return a command prefix that makes the kernel end the node when this process dies, if `setpriv` is installed."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []


def _free_ports(count: int) -> list[int]:
    """Return distinct free ports of the loopback address."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()
