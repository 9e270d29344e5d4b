"""Compilers behind a socket give the same results as those in the process itself."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
import pytest

from explorer_app.services import compiler_socket
from explorer_app.services.compiler_socket import CompilerServer, SocketCompilers
from explorer_app.services.compiling import CompilationLimits, NpmCompilers
from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import (
    BadSubmission,
    CompilersAway,
    CompilerStopped,
    Refusal,
    SubmissionReason,
    VerificationReason,
)
from tests.builders.reasons import raises

VERSION = CompilerVersion(0, 8, 37, "f401782d")
ANSWER = json.dumps({"version": VERSION.long, "output": {"contracts": {}}}).encode()


class Installed(NpmCompilers):
    """A single compiler, whose result a test sets."""

    def __init__(self) -> None:
        super().__init__(None, CompilationLimits(60.0, 2**40))
        self.answer: bytes | Exception = ANSWER
        self.asked: list[tuple[str, bytes]] = []
        self.most_at_once = self.running = 0

    def versions(self) -> list[CompilerVersion]:
        return [VERSION._replace(commit="")]

    def run(self, version: CompilerVersion, text: bytes, *, until: float) -> bytes:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.asked.append((version.long, text))
        time.sleep(0)  # let other threads run
        self.running -= 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "socket"


@pytest.fixture
def installed(path: Path) -> Iterator[Installed]:
    """A compiler behind a server."""
    compilers = Installed()
    with CompilerServer(path, compilers) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield compilers
        server.shutdown()
        thread.join()


def compile_with(compilers: SocketCompilers, text: bytes = b"{}") -> object:
    return compilers.compile(VERSION, text, until=time.monotonic() + 60)


def test_versions_and_outputs_pass_the_socket(path: Path, installed: Installed) -> None:
    compilers = SocketCompilers(path)
    text = b"x" * 3_000_000

    assert [version.short for version in compilers.versions()] == ["0.8.37"]
    compilers.require(VERSION)
    assert compile_with(compilers, text) == (VERSION, {"contracts": {}})
    assert installed.asked == [(VERSION.long, text)]


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (
            BadSubmission(SubmissionReason.UNKNOWN_COMPILER, version="0.8.37"),
            SubmissionReason.UNKNOWN_COMPILER,
            "npm install solc-0.8.37",
        ),
        (
            CompilerStopped(VerificationReason.COMPILER_STOPPED, message="The compiler failed: no"),
            VerificationReason.COMPILER_STOPPED,
            "^The compiler failed: no$",
        ),
        (b"nothing", VerificationReason.NO_COMPILER_OUTPUT, "cannot be read"),
        (
            ANSWER.replace(b"f401782d", b"aaaaaaaa"),
            VerificationReason.WRONG_COMMIT,
            "aaaaaaaa is installed",
        ),
        (
            RuntimeError("a fault of the server"),
            SubmissionReason.COMPILERS_AWAY,
            "do not answer: try again later",
        ),
    ],
)
def test_reasons_for_missing_output_are_passed_on(
    path: Path, installed: Installed, answer: bytes | Exception, reason: StrEnum, words: str
) -> None:
    installed.answer = answer

    with raises(reason, kind=Refusal, match=words):
        compile_with(SocketCompilers(path))
    installed.answer = ANSWER
    assert compile_with(SocketCompilers(path))


def test_a_version_that_is_not_installed_is_refused_at_once(
    path: Path, installed: Installed
) -> None:
    with raises(SubmissionReason.UNKNOWN_COMPILER, kind=BadSubmission):
        SocketCompilers(path).require(CompilerVersion(0, 4, 26))
    assert installed.asked == []


def test_one_compiler_runs_at_a_time(path: Path, installed: Installed) -> None:
    clients = [
        threading.Thread(target=compile_with, args=[SocketCompilers(path)]) for _ in range(8)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()

    assert (len(installed.asked), installed.most_at_once) == (8, 1)


def test_an_invalid_or_too_long_request_is_dropped(
    path: Path, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_socket, "_MAX_REQUEST", 100)
    for request in (b"", b"\xc1", msgspec.msgpack.encode([1]), bytes(101)):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""

    assert compile_with(SocketCompilers(path))
    assert len(installed.asked) == 1


def test_without_a_server_nothing_is_offered_and_submissions_are_put_off(path: Path) -> None:
    compilers = SocketCompilers(path)

    assert compilers.versions() == []
    for call in (compilers.require, lambda version: compile_with(compilers)):
        with pytest.raises(CompilersAway):
            call(VERSION)


def test_the_socket_of_a_killed_server_is_replaced_and_nothing_else(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    CompilerServer(path, Installed()).server_close()

    path.unlink()
    path.write_text("precious")
    with pytest.raises(OSError, match="Address already in use"):
        CompilerServer(path, Installed())
    assert path.read_text() == "precious"
