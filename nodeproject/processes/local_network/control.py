"""The socket through which a second terminal controls the command that runs a local network.

Request and reply are one JSON object each, on one line. The socket is in the network's directory, for its owner only.
"""

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from nodeproject.processes.local_network.processes import RequestRefused

NAME = "control"
"""The socket's file in the network's directory."""
_LONGEST = 4096
"""Maximum bytes of a request."""
_PATIENCE = 5.0
"""Seconds that either side waits for the other's line."""

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Processes a request; raises `RequestRefused` if it cannot be fulfilled."""


class Control:
    """A server that answers one request at a time.

    Args:
        directory: The network's directory, which the caller has locked.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._socket = socket.socket(socket.AF_UNIX)
        with _inside(directory):
            Path(NAME).unlink(
                missing_ok=True
            )  # left by a killed command, since we hold the lock now
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
        """Wait at most this long for a request, and answer it."""
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return
        with connection, contextlib.suppress(OSError):  # the client has gone, or sends nothing
            connection.settimeout(_PATIENCE)
            with connection.makefile("rb") as lines:
                line = lines.readline(_LONGEST)
            connection.sendall(json.dumps(_reply(line, answer)).encode() + b"\n")


def ask(directory: Path, action: str, node: int | None = None) -> dict[str, Any]:
    """Send a request to the command that runs the network in a directory, and return its answer.

    Raises:
        RequestRefused: No network runs in the directory, or the request cannot be fulfilled.
    """
    try:
        with _inside(directory), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(4 * _PATIENCE)  # other requests may be answered before
            connection.connect(NAME)
            connection.sendall(json.dumps({"action": action, "node": node}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                reply = json.loads(lines.readline())
    except TimeoutError as error:
        raise RequestRefused(
            f"the command that runs the network in {directory} is silent"
        ) from error
    except (OSError, ValueError) as error:
        raise RequestRefused(f"no local network runs in {directory}") from error
    if "error" in reply:
        raise RequestRefused(reply["error"])
    return dict(reply)


def _reply(line: bytes, answer: Answer) -> Mapping[str, Any]:
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            return {"error": "a request is an object"}
        return answer(request)
    except (RequestRefused, OSError) as error:
        return {"error": str(error)}
    except ValueError:
        return {"error": "a request is a line of JSON"}


@contextmanager
def _inside(directory: Path) -> Iterator[None]:
    """Change into a directory, because a socket's path is limited to about 100 bytes; its name is shorter."""
    with contextlib.chdir(directory):
        yield
