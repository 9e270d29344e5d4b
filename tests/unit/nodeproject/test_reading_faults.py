"""A reader continues after a single failure: of a request, of a start, or for lack of descriptors."""

import asyncio
import errno
import socket
import subprocess
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.selectors import blocks
from nodeproject.heads.shared_memory import HeadPage
from nodeproject.processes.readers import processes
from nodeproject.processes.readers.head import ReaderHead
from nodeproject.processes.readers.processes import Readers


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A chain without blocks, whose rows are never read."""
    monkeypatch.setattr(blocks, "catch_up", lambda _chain: None)
    memory = SimpleNamespace(blocks=SimpleNamespace(head=None), pool=SimpleNamespace())
    return SimpleNamespace(memory=memory)


async def test_others_are_answered_where_one_request_cannot_be_gone_on_with(
    chain: Any, caplog: pytest.LogCaptureFixture
) -> None:
    head = ReaderHead(chain, HeadPage())
    first, second = asyncio.Event(), asyncio.Event()

    def fail(_can_answer: bool) -> None:  # noqa: FBT001  # called with a positional argument
        raise OSError(errno.EMFILE, "Too many open files")

    head.when_current(fail)
    head.when_current(lambda _can_answer: first.set())
    await asyncio.wait_for(first.wait(), 30)
    head.when_current(lambda _can_answer: second.set())
    await asyncio.wait_for(second.wait(), 30)

    assert "was not gone on with" in caplog.text
    assert "Too many open files" in caplog.text


def test_a_reader_that_cannot_be_started_is_started_later(
    chain: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "PAUSE", 0.0)
    started, lines = threading.Event(), []

    class Process:
        """A stand-in for a reader that ends as soon as it is asked to."""

        def __init__(self, *_command: Any, pass_fds: tuple[int, ...], **_options: Any) -> None:
            lines.append(pass_fds[0])
            if len(lines) < 3:
                raise OSError(errno.ENOMEM, "Cannot allocate memory")
            self._line = socket.socket(fileno=socket.dup(pass_fds[0]))
            started.set()

        def wait(self, _seconds: float) -> int:
            self._line.close()
            return 0

    monkeypatch.setattr(subprocess, "Popen", Process)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        readers = Readers(chain, [[listening]])
        readers.start(lambda _given: None)
        assert started.wait(60)
        readers.stop()
        readers.join()

    words = "a reader could not be started: [Errno 12] Cannot allocate memory; restarting it"
    assert caplog.text.count(words) == 2
