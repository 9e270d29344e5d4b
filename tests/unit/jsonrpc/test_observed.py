"""The observer is notified of bodies and calls that are not executed, or too late."""

from collections.abc import Iterator

import pytest

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.dispatch.gate import Gate, GateConfig, HttpConnection, RequestHead
from jsonrpc.http.replies import Endpoint
from tests.unit.jsonrpc.test_hot import body

HEAD = RequestHead("POST", {}, has_query=False, peer="127.0.0.1")

Heard = list[tuple[str, float, int]]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """The observations."""
    return []


@pytest.fixture
def dispatcher(registry, clock, would_block, heard: Heard) -> Dispatcher:
    return Dispatcher(
        registry,
        limits=DispatchLimits(batch=3),
        clock=clock,
        would_block=would_block,
        observer=lambda *what: heard.append(what),
    )


@pytest.mark.parametrize("entry", ["answer", "answer_hot"])
@pytest.mark.parametrize(
    ("text", "code"), [(b"nonsense", -32700), (b"[]", -32600), (b"[1,2,3,4]", -32600)]
)
def test_a_body_that_is_not_executed_is_refused_once(
    dispatcher: Dispatcher, heard: Heard, entry: str, text: bytes, code: int
) -> None:
    assert getattr(dispatcher, entry)(text) is not None
    assert heard == [("refused", 0.0, code)]


def test_rate_limit_and_overload_have_separate_names(dispatcher: Dispatcher, heard: Heard) -> None:
    endpoint = Endpoint(("/rpc",), dispatcher)
    endpoint.limited(HEAD, body("number"), 1.0)
    endpoint.busy(HEAD, body("number"))
    assert heard == [("limited", 0.0, -32005), ("overloaded", 0.0, -32005)]


def test_overdue_call_is_observed_as_late(dispatcher: Dispatcher, heard: Heard) -> None:
    dispatcher.give_up(body("number"))
    dispatcher.give_up(b"[%b,%b]" % (body("number"), body("nope")))
    assert heard == [
        ("late", 0.0, -32002), ("late", 0.0, -32002), ("unknown", 0.0, -32601)
    ]  # fmt: skip


def test_a_call_that_took_too_long_was_executed_and_late(
    dispatcher: Dispatcher, heard: Heard
) -> None:
    dispatcher.answer(body("wait", 31))
    assert heard == [("wait", 31.0, 0), ("late", 0.0, -32002)]


@pytest.mark.parametrize("text", [body("number"), b"[%b]" % body("number"), b"nonsense"])
def test_call_of_a_disconnected_client_is_not_executed(
    dispatcher: Dispatcher, heard: Heard, calls, text: bytes
) -> None:
    gone = HttpConnection(Gate(GateConfig(), GETH), HEAD, lambda: True)
    assert dispatcher.answer(text, gone) is None
    assert heard == [("abandoned", 0.0, 0)]
    assert calls.seen == []


def test_a_batch_ends_between_two_calls_when_its_client_hangs_up(
    dispatcher: Dispatcher, heard: Heard, calls, clock
) -> None:
    began = clock.now
    leaving = HttpConnection(Gate(GateConfig(), GETH), HEAD, lambda: clock.now > began)
    batch = b"[%b,%b,%b]" % (body("number"), body("wait", 1), body("number"))
    assert dispatcher.answer(batch, leaving) is None
    assert heard == [("number", 0.0, 0), ("wait", 1.0, 0), ("abandoned", 0.0, 0)]
    assert calls.seen == [("number",)]


def test_arguments_that_cannot_be_read_are_the_methods_errors(
    dispatcher: Dispatcher, heard: Heard
) -> None:
    dispatcher.answer(body("send", 1))
    dispatcher.answer(b"[%b]" % body("send", 1))
    assert heard == [("send", 0.0, -32602)] * 2


def test_blocking_call_is_observed_on_execution(
    dispatcher: Dispatcher, heard: Heard, calls
) -> None:
    calls.in_memory = False
    assert dispatcher.answer_hot(body("balance", "0x1")) is MISS
    assert heard == []
