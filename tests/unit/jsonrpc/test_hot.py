"""Answers on the event loop: the methods that are allowed there, and the observers."""

import asyncio
import threading
from contextlib import contextmanager
from unittest.mock import Mock

import msgspec
import pytest

from jsonrpc.dispatch import envelope
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dialects import Geth
from jsonrpc.dispatch.dispatcher import MISS, SMALL_BODY, Body, Dispatcher, HotAnswer
from jsonrpc.dispatch.gate import RequestHead
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import server_busy
from jsonrpc.http.answering import Answering, give_up
from jsonrpc.http.replies import Endpoint
from jsonrpc.limits.interpreter import ARRIVAL_SECONDS, LoopTurn
from jsonrpc.limits.throttle import LocalThrottle, Rate


def body(method: str, *params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def test_a_cold_method_is_not_executed_on_the_loop(dispatcher: Dispatcher, calls) -> None:
    assert dispatcher.answer_hot(body("send", "0x1")) is MISS
    assert dispatcher.answer_hot(body("crash")) is MISS
    assert calls.seen == []


def test_a_hot_method_that_would_block_is_a_miss(dispatcher: Dispatcher, calls) -> None:
    calls.in_memory = False
    assert dispatcher.answer_hot(body("balance", "0x1")) is MISS
    calls.in_memory = True
    assert dispatcher.answer(body("balance", "0x1")) == dispatcher.answer_hot(
        body("balance", "0x1")
    )


@pytest.fixture
def parsed(registry, calls, would_block) -> list[object]:
    """The values that the argument of `tried` was parsed from; it would block while `calls.in_memory` is not set."""
    values: list[object] = []

    def parse(value: object) -> object:
        values.append(value)
        return value

    def answer(value: object) -> object:
        if not calls.in_memory:
            raise would_block[0]
        return value

    registry.add("tried", answer, params=[Param("value", parse)], hot=True)
    registry.add("cold", lambda value: value, params=[Param("value", parse)])
    return values


@pytest.mark.parametrize("length", [1, SMALL_BODY])
def test_thread_reuses_the_body_parsed_on_the_loop(
    dispatcher: Dispatcher, calls, parsed: list[object], length: int
) -> None:
    value = "a" * length
    asked = Body(body("tried", value))
    calls.in_memory = False
    assert dispatcher.answer_hot(asked) is MISS
    calls.in_memory = True

    assert dispatcher.work(asked)() == dispatcher.answer_hot(asked.text)
    # A long argument is not kept while its call waits for a thread.
    assert parsed == [value] * (3 if length > 1 else 2)


def test_a_thread_parses_the_arguments_of_a_cold_method(
    dispatcher: Dispatcher, parsed: list[object]
) -> None:
    asked = Body(body("cold", 5))
    assert dispatcher.answer_hot(asked) is MISS
    assert parsed == []
    assert dispatcher.work(asked)() == b'{"jsonrpc":"2.0","id":1,"result":5}'


@pytest.mark.parametrize("text", [b"[%b]" % body("cold", 5), body("cold", 5)])
def test_unparsed_body_or_batch_is_dispatched_whole(
    dispatcher: Dispatcher, parsed: list[object], text: bytes
) -> None:
    asked = Body(text)
    if text.startswith(b"["):
        assert dispatcher.answer_hot(asked) is MISS
    assert asked.call is None
    assert dispatcher.work(asked)() == dispatcher.answer(text)


def test_parsed_call_of_a_disconnected_client_is_not_executed(
    registry, parsed: list[object]
) -> None:
    heard: list[str] = []
    dispatcher = Dispatcher(registry, observer=lambda name, *_: heard.append(name))
    asked = Body(body("cold", 5))
    dispatcher.answer_hot(asked)
    gone = Mock(is_gone=lambda: True)

    assert dispatcher.work(asked, gone)() is None
    assert (heard, parsed) == (["abandoned"], [])


def test_parsed_call_is_late_after_the_time_limit(registry, clock) -> None:
    def take_long() -> int:
        clock.now += 31
        return 1

    registry.add("endless", take_long, untimed=True)
    dispatcher = Dispatcher(registry, clock=clock)
    late, endless = Body(body("wait", 31)), Body(body("endless"))
    for asked in (late, endless):
        assert dispatcher.answer_hot(asked) is MISS

    assert b'"message":"request timed out"' in (dispatcher.work(late)() or b"")
    assert b'"result":1' in (dispatcher.work(endless)() or b"")


def test_blocking_in_a_worker_is_a_crash(dispatcher: Dispatcher, calls, caplog) -> None:
    calls.in_memory = False
    assert b"-32603" in (dispatcher.answer(body("balance", "0x1")) or b"")
    assert len(caplog.records) == 1


def test_a_hot_vectorized_method_that_would_block_is_a_miss(registry, would_block) -> None:
    (blocked,) = would_block

    def fail(_calls: list[tuple[()]]) -> list[object]:
        raise blocked

    registry.add("returns", vectorized=lambda calls: [blocked()] * len(calls), hot=True)
    registry.add("raises", vectorized=fail, hot=True)
    dispatcher = Dispatcher(registry, would_block=would_block)
    for method in ("returns", "raises"):
        assert dispatcher.answer_hot(body(method)) is MISS
        assert dispatcher.answer_hot(b"[%b]" % body(method)) is MISS


def test_errors_without_method_are_answered_on_the_loop(dispatcher: Dispatcher) -> None:
    for text in (body("nope"), b"{}", b"nonsense", b"[]", body("balance")):
        assert dispatcher.answer_hot(text) == dispatcher.answer(text)


def test_a_long_body_is_read_in_a_worker(registry) -> None:
    dispatcher = Dispatcher(registry, limits=DispatchLimits(hot_body=100))
    assert dispatcher.answer_hot(body("number").ljust(101)) is MISS
    assert dispatcher.answer_hot(body("number").ljust(100)) is not MISS


def test_observer_receives_method_duration_and_code(registry, clock) -> None:
    heard = []
    dispatcher = Dispatcher(
        registry, clock=clock, observer=lambda *what: heard.append(what), inflight=Inflight(clock)
    )
    dispatcher.answer_hot(body("number"))
    dispatcher.answer(body("wait", 2))
    dispatcher.answer(body("fail", 3))
    dispatcher.answer(body("no_such_method"))
    send = body("send", "0x0")
    dispatcher.answer(b"[%b,%b]" % (send, send.replace(b"0x0", b"0x2")))
    assert heard == [
        ("number", 0.0, 0),
        ("wait", 2.0, 0),
        ("fail", 0.0, 3),
        ("unknown", 0.0, -32601),
        ("send", 0.0, -32000),
        ("send", 0.0, 0),
    ]


def test_a_running_call_is_entered_until_it_ends(registry, clock) -> None:
    inflight = Inflight(clock)
    seen = []

    def look() -> None:
        clock.now += 3
        seen.append((inflight.oldest().method, inflight.longest_seconds(), len(inflight)))
        raise ZeroDivisionError

    registry.add("look", look)
    registry.add("look_all", vectorized=lambda calls: [look() for _ in calls])
    dispatcher = Dispatcher(registry, clock=clock, inflight=inflight)
    dispatcher.answer(body("look"))
    dispatcher.answer(b"[%b]" % body("look_all"))
    assert seen == [("look", 3.0, 1), ("look_all", 3.0, 1)]
    assert (inflight.oldest(), inflight.longest_seconds()) == (None, 0.0)


def test_oldest_running_call_is_the_first_started(clock) -> None:
    inflight = Inflight(clock)
    first = inflight.begin("a")
    clock.now += 5
    second = inflight.begin("b")
    clock.now += 1
    assert (inflight.oldest().method, inflight.longest_seconds()) == ("a", 6.0)
    inflight.end(first)
    assert (inflight.oldest().method, inflight.longest_seconds()) == ("b", 1.0)
    inflight.end(second)
    inflight.end(second)
    assert len(inflight) == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (body("number"), 1),
        (b"[%b]" % body("number"), 1),
        (b" [%b,%b,5]" % (body("number"), body("nope")), 3),
        (b"[]", 1),
        (b"[nonsense", 1),
        (b"nonsense", 1),
        (b"[%b]" % b",".join([b"1"] * 1001), 1),
    ],
)
def test_a_batch_counts_by_its_calls(dispatcher: Dispatcher, text: bytes, count: int) -> None:
    assert dispatcher.count(text) == count


def test_a_refusal_has_the_id_of_a_single_call_that_is_not_long(registry) -> None:
    dispatcher = Dispatcher(registry, limits=DispatchLimits(hot_body=100))
    for text, identifier in (
        (body("number"), 1),
        (body("number").ljust(101), None),
        (b"[%b]" % body("number"), None),
        (b"nonsense", None),
        (b'{"id":{}}', None),
    ):
        answer = msgspec.json.decode(dispatcher.refuse(text, server_busy()))
        assert (answer["id"], answer["error"]["code"]) == (identifier, -32005)


@pytest.mark.parametrize("text", [body("wait", 2), b"[%b]" % body("wait", 2), b"nonsense"])
def test_body_is_parsed_once(dispatcher: Dispatcher, monkeypatch, text: bytes) -> None:
    read = []

    def counted(body: bytes, most: int) -> object:
        read.append(body)
        return envelope.read(body, most)

    monkeypatch.setattr(Geth, "read", staticmethod(counted))
    asked = Body(text)
    answers = [
        dispatcher.count(asked), dispatcher.answer_hot(asked), dispatcher.gathered_as(asked),
        dispatcher.answer(asked), dispatcher.refuse(asked, server_busy()), dispatcher.give_up(asked),
    ]  # fmt: skip

    assert read == [text]
    assert answers == [
        dispatcher.count(text), dispatcher.answer_hot(text), dispatcher.gathered_as(text),
        dispatcher.answer(text), dispatcher.refuse(text, server_busy()), dispatcher.give_up(text),
    ]  # fmt: skip


def test_giving_up_answers_each_call(dispatcher: Dispatcher, calls) -> None:
    single = msgspec.json.decode(dispatcher.give_up(body("number")))
    assert single["error"] == {"code": -32002, "message": "request timed out"}
    text = b'[%b,5,{"jsonrpc":"2.0","method":"number"}]' % body("number")
    batch = msgspec.json.decode(dispatcher.give_up(text))
    assert [answer["error"]["code"] for answer in batch] == [-32002, -32600]
    assert dispatcher.give_up(b'{"jsonrpc":"2.0","method":"number"}') is None
    assert b"-32700" in (dispatcher.give_up(b"nonsense") or b"")
    assert calls.seen == []


@pytest.fixture
def slow(registry, clock) -> Dispatcher:
    """A method that takes 15 milliseconds per call, in turns of 20 milliseconds."""

    def take_time() -> str:
        clock.now += 0.015
        return "0x1"

    registry.add("slow", take_time, hot=True)
    turn = LoopTurn(0.02, clock=clock)
    return Dispatcher(registry, clock=clock, turn=turn)


def in_one_turn(dispatcher: Dispatcher, *bodies: bytes) -> list[HotAnswer]:
    async def answer() -> list[HotAnswer]:
        return [dispatcher.answer_hot(body) for body in bodies]

    return asyncio.run(answer())


def test_batch_that_blocks_the_loop_runs_in_a_worker(slow: Dispatcher) -> None:
    two, three = (b"[%b]" % b",".join([body("slow")] * count) for count in (2, 3))
    assert MISS not in in_one_turn(slow, two)
    assert in_one_turn(slow, three) == [MISS]
    assert (slow.answer(three) or b"").count(b'"result"') == 3


def test_all_batches_of_a_turn_share_its_time(slow: Dispatcher) -> None:
    batch = b"[%b]" % body("slow")
    answers = in_one_turn(slow, *[batch] * 100)
    assert [answer is MISS for answer in answers] == [False] * 2 + [True] * 98

    async def in_turns() -> list[HotAnswer]:
        answers = []
        for _ in range(10):
            answers.append(slow.answer_hot(batch))
            await asyncio.sleep(0)
        return answers

    assert MISS not in asyncio.run(in_turns())


def test_loop_turn_is_short_after_new_connections(clock) -> None:
    turn = LoopTurn(0.02, clock=clock)

    async def spent_after(seconds: float) -> bool:
        await asyncio.sleep(0)  # in a new turn
        assert not turn.is_spent()
        clock.now += seconds
        return turn.is_spent()

    async def turns() -> None:
        turn.accepted()
        assert not await spent_after(0.01)  # it was the only one
        turn.accepted()  # in a turn that has already started
        assert not turn.is_spent()
        clock.now += 0.001
        assert turn.is_spent()
        assert await spent_after(0.001)
        clock.now += ARRIVAL_SECONDS
        assert not await spent_after(0.01)

    asyncio.run(turns())


def test_all_interfaces_of_a_loop_share_its_turns(registry, clock) -> None:
    turn = LoopTurn(0.02, clock=clock)
    first, second = (Dispatcher(registry, clock=clock, turn=turn) for _ in range(2))

    async def answer() -> HotAnswer:
        assert first.answer_hot(b"[%b]" % body("number")) is not MISS
        clock.now += 0.03
        return second.answer_hot(b"[%b]" % body("number"))

    assert asyncio.run(answer()) is MISS


@pytest.mark.parametrize(
    "long",
    [
        b"[%b]" % b",".join([b'{"method":1}'] * 5000),
        b" " * SMALL_BODY + body("number"),
        b"nonsense" * 1000,
    ],
)
def test_in_a_spent_turn_nothing_is_read_but_small_bodies(
    slow: Dispatcher, long: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = b"[%b,%b]" % (body("slow"), body("slow"))
    read = []
    original = slow.dialect.read
    reading = Mock(wraps=slow.dialect)
    reading.read = lambda text, most: read.append(text) or original(text, most)
    monkeypatch.setattr(slow, "dialect", reading)
    answers = in_one_turn(slow, spent, long, body("number"))
    assert answers[0] is not MISS
    assert answers[1] is MISS
    assert answers[2] == slow.answer(body("number"))
    assert long not in read


@pytest.mark.parametrize(
    "many",
    [
        b"[%b]" % b",".join([b'{"method":1}'] * 2000),
        b"[%b]" % b",".join([b"[1,1]"] * 2000),
        b'{"id":7,"params":[%b]}' % b",".join([b"[]"] * 2000),
        b"[" * 3000,
    ],
)
async def test_body_with_many_values_is_parsed_in_a_thread(
    registry, many: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher = Dispatcher(registry, turn=LoopTurn(60.0))
    endpoint = Endpoint(("/rpc",), dispatcher, throttle=LocalThrottle(Rate(1, 1)))
    head = RequestHead("POST", {}, has_query=False, peer="127.0.0.1")
    workers = Workers(threads=1)
    read_in = []
    original = dispatcher.dialect.read
    reading = Mock(wraps=dispatcher.dialect)
    reading.read = lambda text, most: (
        read_in.append(threading.current_thread()) or original(text, most)
    )
    monkeypatch.setattr(dispatcher, "dialect", reading)

    assert dispatcher.answer_hot(many) is MISS
    assert dispatcher.gathered_as(many) is None
    assert b'"id":null' in dispatcher.refuse(many, server_busy())
    assert read_in == []
    await give_up(dispatcher, Body(many))
    await Answering(workers).charge(endpoint, head, Body(many))
    assert read_in
    assert threading.current_thread() not in read_in
    workers.close()


def test_long_batch_is_not_parsed_for_gathering(
    dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "dialect", None)
    assert dispatcher.gathered_as(b"[%b]" % body("send", "0x" + 70_000 * "1")) is None


def test_event_loop_ended_within_a_turn_leaves_the_next_a_full_turn(clock) -> None:
    turn = LoopTurn(0.02, clock=clock)

    async def spend() -> list[bool]:
        spent = [turn.is_spent()]
        clock.now += 1
        return [*spent, turn.is_spent()]

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(spend()) == [False, True]
    loop.close()
    assert asyncio.run(spend()) == [False, True]


def test_batch_counts_as_one_request(registry) -> None:
    heard = []

    @contextmanager
    def one_request():
        heard.append("begin")
        yield
        heard.append("end")

    registry.add("listen", lambda: heard.append("call"), hot=True)
    dispatcher = Dispatcher(registry, one_request=one_request)
    request = body("listen")
    dispatcher.answer_hot(b"[%b,%b]" % (request, request))
    assert heard == ["begin", "call", "call", "end"]
