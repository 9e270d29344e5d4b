"""Compilers that run in another process, behind a Unix socket.

Sources are untrusted input. In a container without network, keys and database a faulty compiler cannot reach any of
them. A connection carries one request and its answer, each a MessagePack value; its sender then stops writing.
"""

import logging
import socket
import socketserver
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from typing_extensions import override

from explorer_app.services.compiling import MAX_OUTPUT, NpmCompilers, output_of
from explorer_app.verification.compilers import CompilerOutput, CompilerVersion
from explorer_app.verification.errors import (
    BadSubmission,
    CompilersAway,
    CompilerStopped,
    SubmissionReason,
    VerificationReason,
)

ENOUGH_SECONDS: Final = 10.0
"""Time limit for operations without a compiler: connecting, sending a request, listing the versions."""
_MAX_REQUEST: Final = 64 * 1024 * 1024
_MAX_ANSWER: Final = MAX_OUTPUT + 65_536
_PIECE: Final = 65_536
_WAITING: Final = 16
"""Limit of connections that wait to be accepted."""

_log: Final = logging.getLogger(__name__)


class _CompilerRequest(msgspec.Struct):
    """A compilation, or a request for the list of versions if `version` is empty."""

    version: str = ""
    seconds: float = 0.0
    text: bytes = b""


class _CompilerAnswer(msgspec.Struct):
    """The versions, the compiler's output, or the reason why it is missing."""

    versions: list[str] = []
    output: bytes = b""
    is_unknown: bool = False
    stopped: str = ""


class SocketCompilers:
    """The compilers behind a socket (`verification.port.Compilers`).

    Args:
        path: The socket.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def versions(self) -> list[CompilerVersion]:
        """Return the installed versions, the newest first; an empty list if the process does not answer."""
        try:
            return self._installed()
        except CompilersAway:
            return []

    def require(self, version: CompilerVersion) -> None:
        """Check that a version is installed.

        Raises:
            BadSubmission: The version is not installed.
            CompilersAway: The process does not answer.
        """
        if version.number not in {installed.number for installed in self._installed()}:
            raise BadSubmission(SubmissionReason.UNKNOWN_COMPILER, version=version.short)

    def compile(self, version: CompilerVersion, text: bytes, *, until: float) -> CompilerOutput:
        """Run a compiler in the other process; see `verification.port.Compilers`.

        Raises:
            CompilersAway: The process does not answer.
        """
        seconds = max(until - time.monotonic(), 0.0)
        answer = self._ask(_CompilerRequest(version.long, seconds, text), seconds + ENOUGH_SECONDS)
        if answer.is_unknown:
            raise BadSubmission(SubmissionReason.UNKNOWN_COMPILER, version=version.short)
        if answer.stopped:
            raise CompilerStopped(VerificationReason.COMPILER_STOPPED, message=answer.stopped)
        return output_of(answer.output, version)

    def _installed(self) -> list[CompilerVersion]:
        return [
            CompilerVersion.parse(text)
            for text in self._ask(_CompilerRequest(), ENOUGH_SECONDS).versions
        ]

    def _ask(self, request: _CompilerRequest, seconds: float) -> _CompilerAnswer:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(seconds)
                connection.connect(str(self._path))
                connection.sendall(msgspec.msgpack.encode(request))
                connection.shutdown(socket.SHUT_WR)
                answer = _read(connection, _MAX_ANSWER, time.monotonic() + seconds)
            return msgspec.msgpack.decode(answer, type=_CompilerAnswer)
        except (OSError, msgspec.DecodeError, BadSubmission) as error:
            raise CompilersAway(SubmissionReason.COMPILERS_AWAY) from error


class CompilerServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Runs compilers for other processes, one at a time.

    Args:
        path: The socket. A socket left behind by a killed process is replaced.
        compilers: The installed compilers.

    Raises:
        OSError: The socket cannot be created, or another kind of file is at its path.
    """

    daemon_threads = True
    request_queue_size = _WAITING

    def __init__(self, path: Path, compilers: NpmCompilers) -> None:
        self.compilers = compilers
        self.compiling = threading.Lock()
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()
        super().__init__(str(path), _Handler)

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        del request, client_address
        _log.exception("a compiler request could not be answered")

    def answer(self, request: _CompilerRequest) -> _CompilerAnswer:
        """Return the answer to a request."""
        if not request.version:
            return _CompilerAnswer([compiler.short for compiler in self.compilers.versions()])
        until = time.monotonic() + request.seconds
        if not self.compiling.acquire(timeout=request.seconds):
            return _CompilerAnswer(stopped="The compilation took too long")
        try:
            version = CompilerVersion.parse(request.version)
            return _CompilerAnswer(output=self.compilers.run(version, request.text, until=until))
        except BadSubmission:
            return _CompilerAnswer(is_unknown=True)
        except CompilerStopped as error:
            return _CompilerAnswer(stopped=str(error))
        finally:
            self.compiling.release()


class _Handler(socketserver.BaseRequestHandler):
    server: CompilerServer

    @override
    def handle(self) -> None:
        connection: socket.socket = self.request
        try:
            data = _read(connection, _MAX_REQUEST, time.monotonic() + ENOUGH_SECONDS)
            request = msgspec.msgpack.decode(data, type=_CompilerRequest)
        except (OSError, msgspec.DecodeError) as error:
            _log.warning("a compiler request cannot be parsed: %s", error)
            return
        answer = msgspec.msgpack.encode(self.server.answer(request))
        with suppress(OSError):  # the client did not wait
            connection.settimeout(ENOUGH_SECONDS)
            connection.sendall(answer)


def _read(connection: socket.socket, maximum: int, until: float) -> bytearray:
    """Return all that a peer sends before it stops writing.

    Raises:
        OSError: The peer sends too much or takes too long.
    """
    received = bytearray()
    while True:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        piece = connection.recv(_PIECE)
        if not piece:
            return received
        received += piece
        if len(received) > maximum:
            raise OSError(f"it has more than {maximum} bytes")
