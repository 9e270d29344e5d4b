"""A Redis server without persistence."""

import shutil
import socket
import tempfile
from pathlib import Path

from tests.servers.breakable import Breakable
from tests.servers.ports import free_port
from tests.servers.process import ServerProcess


class RedisServer(Breakable):
    """A running server for one node or one test run.

    Args:
        options: Further options of redis-server.
    """

    def __init__(self, *options: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="node-redis-"))
        self.port = free_port()
        command = [
            "redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
            "--save", "", "--appendonly", "no", "--dir", str(self.directory), *options,
        ]  # fmt: skip
        self._start = lambda: ServerProcess(command, self.directory / "log")
        self._process = self._start()
        self._process.wait_until(self._answers)

    @property
    def url(self) -> str:
        """The URL of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        """Stop the server and remove its files."""
        self._process.stop()
        shutil.rmtree(self.directory)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
