"""The announcer gets each call's method once, before the call is executed in a thread; errors follow it."""

import pytest

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.errors import JsonRpcError
from tests.unit.jsonrpc.test_hot import body

Heard = list[tuple[str, int]]


@pytest.fixture
def heard(calls) -> Heard:
    """The announced calls, each with the number of calls."""
    return []


@pytest.fixture
def dispatcher(registry, clock, would_block, calls, heard: Heard) -> Dispatcher:
    def announce(method: str, count: int) -> None:
        heard.append((method, count))
        calls.seen.append(("announced", method))

    def report(method: str, error: JsonRpcError) -> None:
        calls.seen.append(("failed", method, error.code))

    return Dispatcher(
        registry,
        limits=DispatchLimits(),
        clock=clock,
        would_block=would_block,
        announcer=announce,
        on_failure=report,
    )


def test_a_method_is_announced_before_it_is_executed_in_a_thread(dispatcher, heard, calls) -> None:
    dispatcher.answer(body("number"))

    assert heard == [("number", 1)]
    assert calls.seen == [("announced", "number"), ("number",)]


def test_on_the_event_loop_it_is_announced_when_it_was_executed(dispatcher, heard, calls) -> None:
    dispatcher.answer_hot(body("number"))

    assert calls.seen == [("number",), ("announced", "number")]


def test_a_call_that_is_sent_on_to_a_thread_is_announced_there_alone(
    dispatcher, heard, calls
) -> None:
    calls.in_memory = False
    assert dispatcher.answer_hot(body("balance", "0x1")) is MISS
    assert heard == []

    calls.in_memory = True
    dispatcher.answer(body("balance", "0x1"))
    assert heard == [("balance", 1)]


def test_calls_that_are_executed_together_are_announced_together(dispatcher, heard) -> None:
    dispatcher.answer(b"[%b,%b,%b]" % (body("send", "0x1"), body("send", "0x2"), body("number")))

    assert heard == [("send", 2), ("number", 1)]


def test_a_method_that_does_not_exist_is_announced_too(dispatcher, heard) -> None:
    dispatcher.answer(body("nope"))
    dispatcher.answer_hot(body("nope"))
    dispatcher.answer(body("n" * 5000))

    assert heard == [("nope", 1), ("nope", 1)]


def test_a_method_that_fails_is_announced(dispatcher, heard) -> None:
    dispatcher.answer(body("fail", 3))

    assert heard == [("fail", 1)]


def test_an_error_follows_the_name_of_its_method(dispatcher, calls) -> None:
    dispatcher.answer(body("fail", 3))
    assert calls.seen[0] == ("announced", "fail")
    assert calls.seen[-1][:2] == ("failed", "fail")

    calls.seen.clear()
    dispatcher.answer(body("number", 1, 2, 3))
    assert calls.seen == [("announced", "number"), ("failed", "number", -32602)]
    calls.seen.clear()
    dispatcher.answer_hot(body("number", 1, 2, 3))
    assert calls.seen == [("announced", "number"), ("failed", "number", -32602)]
