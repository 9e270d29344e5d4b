"""A batch: order, missing answers, limits, and calls that are executed together."""

import msgspec
import pytest

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher


def call(identifier: object, method: str, *params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def ask(dispatcher: Dispatcher, *elements: object):
    answer = dispatcher.answer(msgspec.json.encode(elements))
    return None if answer is None else msgspec.json.decode(answer)


def codes(answers: list[dict]) -> list[int | None]:
    return [answer.get("error", {}).get("code") for answer in answers]


NOTIFICATION = {"jsonrpc": "2.0", "method": "number"}


def test_answers_are_in_the_order_of_requests(dispatcher: Dispatcher) -> None:
    elements = [call(3, "echo", 1), call(1, "number"), call(2, "send", "0x5"), call(1, "nope")]
    answers = ask(dispatcher, *elements)
    assert [answer["id"] for answer in answers] == [3, 1, 2, 1]
    assert codes(answers) == [None, None, None, -32601]


def test_a_notification_gets_no_entry(dispatcher: Dispatcher, calls) -> None:
    answers = ask(dispatcher, NOTIFICATION, call(1, "number"), NOTIFICATION)
    assert [answer["id"] for answer in answers] == [1]
    assert len(calls.seen) == 3


def test_a_batch_of_notifications_has_no_answer(dispatcher: Dispatcher) -> None:
    assert ask(dispatcher, NOTIFICATION, NOTIFICATION) is None


@pytest.mark.parametrize("element", [1, "x", None, True, [], [[]], {}, {"id": {}}])
def test_malformed_element_has_its_own_error(dispatcher: Dispatcher, element: object) -> None:
    answers = ask(dispatcher, element, call(1, "number"))
    error = {"code": -32600, "message": "invalid request"}
    assert answers[0] == {"jsonrpc": "2.0", "id": None, "error": error}
    assert answers[1] == {"jsonrpc": "2.0", "id": 1, "result": "0x10"}


def test_a_batch_may_have_many_brackets_as_long_as_they_are_flat(dispatcher: Dispatcher) -> None:
    answers = ask(dispatcher, call(1, "echo", [[]] * 11_000), [[]] * 3, call(2, "number"))
    assert codes(answers) == [None, -32600, None]


def test_an_empty_batch_gets_one_object(dispatcher: Dispatcher) -> None:
    error = b'{"code":-32600,"message":"empty batch"}'
    expected = b'{"jsonrpc":"2.0","id":null,"error":%b}' % error
    for text in (b"[]", b" [ ] "):
        assert dispatcher.answer(text) == expected
        assert dispatcher.answer_hot(text) == expected


def test_a_batch_over_the_limit_gets_one_entry_with_the_first_id(dispatcher: Dispatcher) -> None:
    full = [call(n, "number") for n in range(1000)]
    assert len(ask(dispatcher, *full)) == 1000
    (only,) = ask(dispatcher, NOTIFICATION, {"id": 5}, *full)
    assert only == {
        "jsonrpc": "2.0",
        "id": 0,
        "error": {"code": -32600, "message": "batch too large"},
    }
    (only,) = ask(dispatcher, *[NOTIFICATION] * 1001)
    assert only["id"] is None


def test_calls_after_the_response_limit_are_not_executed(registry, calls) -> None:
    dispatcher = Dispatcher(registry, limits=DispatchLimits(response=1000))
    answers = ask(
        dispatcher, call(1, "big", 600), call(2, "big", 600), call(3, "number"), call(4, "nope")
    )
    assert codes(answers) == [None, None, -32003, -32601]
    assert answers[2]["error"]["message"] == "response too large"
    assert calls.seen == []


def test_the_response_limit_holds_inside_vectorized_calls(registry) -> None:
    dispatcher = Dispatcher(registry, limits=DispatchLimits(response=10))
    answers = ask(dispatcher, *[call(n, "send", "0x1111") for n in range(3)], call(9, "number"))
    assert codes(answers) == [None, None, -32003, -32003]


def test_calls_past_the_time_limit_timed_out(dispatcher: Dispatcher, calls) -> None:
    answers = ask(dispatcher, call(1, "wait", 29), call(2, "wait", 2), call(3, "number"), {"id": 4})
    assert codes(answers) == [None, None, -32002, -32600]
    assert answers[2]["error"]["message"] == "request timed out"
    assert calls.seen == []


def test_consecutive_calls_of_a_vectorized_method_run_together(
    dispatcher: Dispatcher, calls
) -> None:
    sends = [call(n, "send", hex(n)) for n in (1, 2, 0)]
    answers = ask(dispatcher, *sends, call(8, "number"), call(9, "send", "0x9"))
    assert calls.seen == [("send", 1, 2, 0), ("number",), ("send", 9)]
    assert codes(answers) == [None, None, -32000, None, None]
    assert answers[1]["result"] == "0x2"


def test_a_bad_argument_spoils_its_own_call_only(dispatcher: Dispatcher, calls) -> None:
    odd = {"jsonrpc": "2.0", "id": [1], "method": "send", "params": ["0x3"]}
    silent = {"jsonrpc": "2.0", "method": "send", "params": ["0x4"]}
    silent_bad = {"jsonrpc": "2.0", "method": "send", "params": ["4"]}
    elements = [call(1, "send", "0x1"), call(2, "send", 5), odd, silent, silent_bad]
    answers = ask(dispatcher, *elements, call(3, "send", "0x2"))
    assert codes(answers) == [None, -32602, -32600, None]
    assert [answer["id"] for answer in answers] == [1, 2, None, 3]
    assert calls.seen == [("send", 1, 4, 2)]


def test_a_vectorized_method_that_crashes_fails_each_of_its_calls(registry, caplog) -> None:
    def crash(_calls: list[tuple[()]]) -> list[object]:
        raise ZeroDivisionError

    registry.add("crash_all", vectorized=crash)
    registry.add("lose_all", vectorized=lambda _calls: [])
    for method in ("crash_all", "lose_all"):
        answers = ask(Dispatcher(registry), call(1, method), call(2, method), call(3, "number"))
        assert codes(answers) == [-32603, -32603, None]
    assert len(caplog.records) == 2


def test_a_vectorized_method_without_a_single_readable_call_is_not_executed(
    dispatcher: Dispatcher, calls
) -> None:
    assert codes(ask(dispatcher, call(1, "send"), call(2, "send", 5))) == [-32602, -32602]
    assert calls.seen == []


def test_interrupt_propagates_through_a_vectorized_method(registry) -> None:
    def interrupt(_calls: list[tuple[()]]) -> list[object]:
        raise KeyboardInterrupt

    registry.add("interrupt", vectorized=interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask(Dispatcher(registry), call(1, "interrupt"))


def test_results_of_a_vectorized_method_are_encoded_separately(registry, caplog) -> None:
    registry.add("odd", vectorized=lambda calls: [object(), "fine"][: len(calls)])
    answers = ask(Dispatcher(registry), call(1, "odd"), call(2, "odd"))
    assert codes(answers) == [-32603, None]


def test_a_hot_batch_is_answered_at_once(dispatcher: Dispatcher) -> None:
    text = msgspec.json.encode([call(1, "number"), call(2, "balance", "0x7"), call(3, "nope")])
    assert dispatcher.answer_hot(text) == dispatcher.answer(text)


def test_a_batch_with_one_cold_method_executes_nothing_on_the_loop(
    dispatcher: Dispatcher, calls
) -> None:
    text = msgspec.json.encode([call(1, "number"), call(2, "echo", 1)])
    assert dispatcher.answer_hot(text) is MISS
    assert calls.seen == []


def test_blocking_or_long_batch_runs_in_a_worker(registry, calls, would_block) -> None:
    calls.in_memory = False
    dispatcher = Dispatcher(registry, limits=DispatchLimits(hot_batch=2), would_block=would_block)
    text = msgspec.json.encode([call(1, "number"), call(2, "balance", "0x7")])
    assert dispatcher.answer_hot(text) is MISS
    assert dispatcher.answer_hot(msgspec.json.encode([call(1, "number")] * 3)) is MISS
    assert dispatcher.answer_hot(msgspec.json.encode([call(1, "number")] * 2)) is not MISS
