"""Whole requests over HTTP get the same bytes and the same counts as from the direct endpoint."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from websockets.frames import Frame, Opcode

from cchain_app.api import shortcut
from cchain_app.api.shortcut import whole_frames
from cchain_app.memory import select
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.http.delivery import text_frame
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.process import restart_node
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.api.hot_requests import SENDER_TEXT, one
from tests.integration.cchain_app.api.whole_requests import (
    CONTRACTS,
    HEADS,
    OTHER_HEADS,
    PLAIN,
    Served,
    bodies,
    calls,
    receive,
    request,
    responses,
    served_on,
)

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("patient")]


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no call wait for a thread because the machine is busy; with `crowded` all calls do."""
    monkeypatch.setattr(shortcut, "CORES", 1)


@pytest.fixture
def both(chain) -> tuple[Served, Served]:
    return served_on(chain)


def test_whole_requests_get_the_same_response_and_counts(both) -> None:
    plain, whole = both

    async def ask() -> None:
        for served in both:
            connections = [served.connect() for _ in HEADS + OTHER_HEADS]
            for _ in range(3):
                for body in bodies() * 2:
                    for (protocol, _), head in zip(connections, HEADS + OTHER_HEADS, strict=True):
                        await receive(protocol, request(head, body))
                served.tick()
            served.written = [transport.written for _, transport in connections]
            for protocol, _ in connections:
                protocol.connection_lost(None)

    asyncio.run(ask())
    assert whole.written == plain.written
    assert (whole.counted, whole.endpoint.replies.read()) == (
        plain.counted,
        plain.endpoint.replies.read(),
    )
    assert (plain.by_whole, whole.by_whole > len(HEADS) * 4) == (0, True)


def test_calls_are_answered_whole_and_logged_like_the_method(both, caplog) -> None:
    log = this_node().transaction_logs["C"]
    log.begin(in_thread=False)
    told = []
    for served in both:
        caplog.clear()
        assert len(responses(served, calls())) == 8
        log.work_off()
        told.append([record.getMessage() for record in caplog.records])
    log.end()
    assert [served.by_whole for served in both] == [0, 3], "batches of calls are the shortcut's"
    assert told[0] == told[1] != []


def test_frames_get_the_dispatchers_answer_and_log(both) -> None:
    plain, _ = both
    node, told = this_node(), []
    frames = whole_frames(
        node.evm_chain,
        node.transaction_logs["C"],
        lambda names, _: told.append(names),
        DispatchLimits(batch=200),
    )
    assert frames is not None
    answered = []
    for body in bodies():
        frame = Frame(Opcode.TEXT, body).serialize(mask=True)
        served = frames.serve(frame)
        if served is not None:
            answer = plain.endpoint.dispatcher.answer(body)
            assert served == (text_frame(answer), len(frame))
            answered.append(body)
    single = [body for body in calls() if body.startswith(b"{")]
    kept = [json.dumps(one(name)).encode() for name in ("eth_blockNumber", "eth_chainId")]
    assert {*single, *kept} <= set(answered)
    assert told[:3] == ["eth_call", "eth_call", "eth_estimateGas"]

    # Frames that arrive together: those before one that is unknown, and not more than a limit.
    asked = [body for body in answered if len(body) < 500][:5]
    sent = [Frame(Opcode.TEXT, body).serialize(mask=True) for body in asked]
    unknown = Frame(Opcode.TEXT, b"{}").serialize(mask=True)
    expected = b"".join(text_frame(plain.endpoint.dispatcher.answer(body)) for body in asked)
    told.clear()
    served = frames.serve(b"".join((*sent, unknown, *sent)))
    assert served == (expected, sum(map(len, sent)))
    assert frames.serve(unknown + sent[0]) is None
    (counts,) = told
    assert sum(counts.values()) >= len(sent)
    number = Frame(Opcode.TEXT, kept[0]).serialize(mask=True)
    told.clear()
    served = frames.serve(number * 10_000)
    assert served is not None
    assert told == [{"eth_blockNumber": served[1] // len(number)}]
    assert 64 <= served[1] // len(number) < 1_000


def test_calls_with_overlong_responses_are_soon_not_tried(both, chain) -> None:
    code = bytecode.assemble("3000 0 RETURN")
    chain.do(to=None, data=bytecode.deploy_code(code), gas=2_000_000, value=0)
    to = encode_data(bytecode.created(SENDER, len(CONTRACTS)))
    body = json.dumps(one("eth_call", {"to": to}, "latest")).encode()
    responses(both[1], [calls()[0]], HEADS[1])  # the same head, which is known from now on
    state = this_node().evm_chain.memory.state

    def asked_of_state(served: Served) -> int:
        before = state.kept()["accounts"].hits
        assert all(
            b"content-encoding: gzip" in each for each in responses(served, [body], HEADS[1])
        )
        return state.kept()["accounts"].hits - before

    both[0].endpoint.dispatcher.answer(body)
    by_whole = both[1].by_whole
    asked = [[asked_of_state(served) for _ in range(4)] for served in both]
    assert asked[1][-1] == asked[0][-1] < asked[1][0]
    assert both[1].by_whole == by_whole


def test_calls_without_time_left_are_left_to_the_shortcut(both, monkeypatch) -> None:
    monkeypatch.setattr(select, "SECONDS_OF_WHOLE", 0.0)
    restart_node()
    plain, hurried = Served(whole=False), Served(whole=True)
    balance = json.dumps(one("eth_getBalance", SENDER_TEXT, "latest")).encode()
    asked = [*calls(), balance]
    for body in asked:
        plain.endpoint.dispatcher.answer(body)
    assert responses(hurried, asked) == responses(plain, asked)
    assert hurried.by_whole == 1


@pytest.mark.parametrize(
    "cut",
    [
        lambda one: (one[:-1],),
        lambda one: (one + b"x",),
        lambda one: (one + one,),
        lambda one: (one[:30], one[30:]),
        lambda one: (one.replace(b"HTTP/1.1", b"HTTP/1.0"),),
        lambda one: (one.replace(b"POST /rpc", b"POST /rpc/x"),),
        lambda one: (one.replace(b"POST", b"PUT"),),
        lambda one: (one.replace(b"\r\n\r\n", b"\n\n"),),
        lambda _: (b"\r\n\r\n", b"", b"x" * 5000),
    ],
)
def test_incomplete_request_is_passed_on(both, cut) -> None:
    asked = request(PLAIN, bodies()[0])

    async def ask() -> list[list[bytes]]:
        seen = []
        for served in both:
            protocol, transport = served.connect()
            for _ in range(2):
                protocol.data_received(asked)
            for piece in cut(asked):
                protocol.data_received(piece)
            seen.append(transport.written)
            protocol.connection_lost(None)
        return seen

    plain, whole = asyncio.run(ask())
    assert whole == plain
    assert whole[-1] == b"past"


def test_failure_of_the_fast_path_passes_the_request_on(both, caplog) -> None:
    class Panic(BaseException):
        """The exception that a panic in a native extension raises."""

    def fail(*_: object) -> None:
        raise Panic

    async def ask() -> list[bytes]:
        _, whole = both
        protocol, transport = whole.connect()
        type(protocol).whole = SimpleNamespace(serve=fail, keep_head=fail)
        whole.endpoint.whole = None
        protocol.data_received(request(PLAIN, bodies()[1]))
        protocol.connection_lost(None)
        return transport.written

    (response,) = asyncio.run(ask())
    assert json.loads(response.partition(b"\r\n\r\n")[2])["result"].startswith("0x")
    assert "the fast path failed" in caplog.text
