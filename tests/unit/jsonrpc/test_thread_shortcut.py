"""The shortcut for threads is tried before a body is parsed, and no call depends on it."""

import time
from typing import Any

import pytest

from jsonrpc.dispatch.calls import ABANDONED, ShortcutAnswer
from jsonrpc.dispatch.dispatcher import MISS, Body, Dispatcher
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import MethodRegistry

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":"0x10"}'


class Shortcut:
    """A shortcut with a fixed answer; it records requests and observations."""

    def __init__(self, answer: ShortcutAnswer | BaseException | None, **options: Any) -> None:
        self._answer = answer
        self.look = lambda: 0
        self.seen: list[int] = []
        """The results of `look` during each request."""
        self.asked: list[bytes] = []
        self.observed: list[tuple[str, int]] = []
        registry = MethodRegistry()
        registry.add("number", lambda: "0x10", hot=True)
        self.dispatcher = Dispatcher(
            registry, observer=self.observe, thread_shortcut=self, **options
        )

    def __call__(self, body: bytes, most_calls: int, most_bytes: int) -> ShortcutAnswer | None:
        assert (most_calls, most_bytes) == (1000, 25_000_000)
        self.asked.append(body)
        self.seen.append(self.look())
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def observe(self, method: str, seconds: float, code: int = 0, count: int = 1) -> None:
        assert seconds >= 0
        self.observed.append((method, count))


class Gone:
    """A client that has disconnected."""

    def is_gone(self) -> bool:
        return True


def test_shortcut_answer_is_returned_and_observed() -> None:
    shortcut = Shortcut((b"[1,2]", {"number": 2}))
    assert shortcut.dispatcher.answer(CALL) == b"[1,2]"
    assert (shortcut.asked, shortcut.observed) == ([CALL], [("number", 2)])


@pytest.mark.parametrize("answer", [b"[1,2]", b""])
def test_thread_shortcut_gets_calls_parsed_on_the_loop(answer: bytes) -> None:
    shortcut = Shortcut((answer, "cold"))
    shortcut.dispatcher.registry.add("cold", lambda: "0x10")
    asked = Body(CALL.replace(b"number", b"cold"))
    assert shortcut.dispatcher.answer_hot(asked) is MISS

    assert shortcut.dispatcher.work(asked)() == answer
    assert (shortcut.asked, shortcut.observed) == ([asked.text], [("cold", 1)])


@pytest.mark.parametrize("answer", [None, (b"", None)])
def test_method_answers_if_the_shortcut_does_not(answer: ShortcutAnswer | None) -> None:
    shortcut = Shortcut(answer)
    assert shortcut.dispatcher.answer(CALL) == ANSWER
    assert shortcut.observed == [("number", 1)]


def test_method_answers_if_the_shortcut_fails(caplog: pytest.LogCaptureFixture) -> None:
    shortcut = Shortcut(MemoryError())
    assert shortcut.dispatcher.answer(CALL) == ANSWER
    assert "the shortcut failed" in caplog.text


def test_outage_in_the_shortcut_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shortcut = Shortcut(OSError(), outage=lambda error: "away" * isinstance(error, OSError))
    assert shortcut.dispatcher.answer(CALL) == ANSWER
    assert caplog.text == ""


def test_thread_shortcut_is_skipped_after_the_deadline() -> None:
    clock = iter([0.0, 31.0])
    shortcut = Shortcut((b"[1,2]", "number"), clock=lambda: next(clock, 31.0))
    shortcut.dispatcher.answer(CALL)
    assert shortcut.asked == []


def test_shortcut_call_is_listed_in_flight() -> None:
    inflight = Inflight(time.monotonic)
    shortcut = Shortcut((b"1", "number"), inflight=inflight)
    shortcut.look = lambda: len(inflight)
    shortcut.dispatcher.answer(CALL)
    assert (shortcut.seen, len(inflight)) == ([1], 0)


def test_shortcut_is_not_used_for_a_disconnected_client() -> None:
    shortcut = Shortcut((b"[1,2]", "number"))
    assert shortcut.dispatcher.answer(CALL, Gone()) is None
    assert (shortcut.asked, shortcut.observed) == ([], [(ABANDONED, 1)])


def test_thread_shortcut_is_not_used_on_the_event_loop() -> None:
    shortcut = Shortcut((b"[1,2]", "number"))
    assert shortcut.dispatcher.answer_hot(CALL) == ANSWER
    assert shortcut.asked == []
