"""The socket by which a second terminal asks the command that runs a local network.

One JSON object each way, each on one line. The socket is in the network's directory and its owner's alone.
"""

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from nodeproject.processes.local_network.processes import Refused

NAME = "control"
"""The socket's file in the network's directory."""
_LONGEST = 4096
"""Bytes of a request."""
_PATIENCE = 5.0
"""Seconds that either side waits for the other's line."""

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes a request; raises `Refused` where it cannot be done."""


class NotRunning(Refused):
    """Nobody runs a network in the directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"no local network runs in {directory}")


class Control:
    """Listens for requests, and answers one at a time.

    Args:
        directory: The network's, which the caller holds.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._socket = socket.socket(socket.AF_UNIX)
        with _inside(directory):
            Path(NAME).unlink(missing_ok=True)  # of one that was killed: its directory is ours now
            before = os.umask(0o177)
            try:
                self._socket.bind(NAME)
            finally:
                os.umask(before)
        self._socket.listen(8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()
        (self._directory / NAME).unlink(missing_ok=True)

    def serve(self, seconds: float, answer: Answer) -> None:
        """Wait at most so long for a request, and answer it."""
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return
        with connection, contextlib.suppress(OSError):  # who asked has gone, or says nothing
            connection.settimeout(_PATIENCE)
            with connection.makefile("rb") as lines:
                line = lines.readline(_LONGEST)
            connection.sendall(json.dumps(_reply(line, answer)).encode() + b"\n")


def ask(directory: Path, action: str, node: int | None = None) -> dict[str, Any]:
    """Ask the command that runs the network in a directory, and return its answer.

    Raises:
        NotRunning: Nobody runs one there.
        Refused: It cannot be done.
    """
    try:
        with _inside(directory), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(4 * _PATIENCE)  # others may be answered before
            connection.connect(NAME)
            connection.sendall(json.dumps({"action": action, "node": node}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                reply = json.loads(lines.readline())
    except TimeoutError as error:
        raise Refused(f"the command that runs the network in {directory} is silent") from error
    except (OSError, ValueError) as error:
        raise NotRunning(directory) from error
    if "error" in reply:
        raise Refused(reply["error"])
    return dict(reply)


def _reply(line: bytes, answer: Answer) -> Mapping[str, Any]:
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            return {"error": "a request is an object"}
        return answer(request)
    except (Refused, OSError) as error:
        return {"error": str(error)}
    except ValueError:
        return {"error": "a request is a line of JSON"}


@contextmanager
def _inside(directory: Path) -> Iterator[None]:
    """Work in a directory: the path of a socket may have no more than about 100 bytes, its name has."""
    with contextlib.chdir(directory):
        yield
