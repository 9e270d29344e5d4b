"""Whole requests over HTTP get the same bytes and the same counts as from the direct endpoint."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from cchain_app.api import shortcut
from cchain_app.api.shortcut import whole_frames, whole_requests
from cchain_app.memory import select
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.http.delivery import text_frame
from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests, Take
from jsonrpc.http.replies import Endpoint, by_path
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.process import restart_node
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.api.hot_requests import SENDER_TEXT, one

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("patient")]

REVERTER = bytecode.assemble("7 0 MSTORE 32 0 REVERT")
CONTRACTS = (bytecode.COUNTER, REVERTER, bytecode.TELLER)
COUNTER_TEXT, REVERTER_TEXT, TELLER_TEXT = (
    encode_data(bytecode.created(SENDER, nonce)) for nonce in range(len(CONTRACTS))
)

PLAIN = (b"Host: localhost", b"Content-Type: application/json")
HEADS = [
    PLAIN,
    (*PLAIN, b"Accept-Encoding: gzip"),
    (*PLAIN, b"Origin: http://page.example"),
    (*PLAIN, b"Connection: keep-alive", b"X-Unknown: a b"),
]
OTHER_HEADS = [
    (b"Host: evil.example", b"Content-Type: application/json"),
    (b"Host: localhost", b"Content-Type: text/plain"),
    (*PLAIN, b"Connection: close"),
]


class Transport:
    """A transport that keeps the bytes written to a client."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self._has_come = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._has_come.set()

    async def until(self, count: int) -> None:
        """Wait until `count` responses were written."""
        while len(self.written) < count:
            self._has_come.clear()
            await self._has_come.wait()

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in {"peername", "sockname"} else None

    def is_closing(self) -> bool:
        return False

    def nothing(self, *_: Any) -> None:
        """Ignore calls that the tests do not check."""

    close = abort = pause_reading = resume_reading = set_write_buffer_limits = nothing

    def get_write_buffer_size(self) -> int:
        return 0


class Served:
    """A direct endpoint with or without whole-request handling, and its counted calls."""

    def __init__(self, *, whole: bool) -> None:
        self.counted: list[tuple[str, int]] = []
        self.by_whole = 0
        self.written: list[list[bytes]] = []
        """The bytes written to each connection, set at the end."""
        limits = DispatchLimits(batch=200)
        dispatcher = hot_dispatcher(
            limits=limits, observer=self._observe, shortcut=this_node().evm_rpc.shortcut
        )

        def told(names: str | dict[str, int], seconds: float) -> None:
            self.by_whole += 1
            dispatcher.record_calls(names, seconds)
            endpoint.replies.answered()

        node = this_node()
        made = (
            whole_requests(node.evm_chain, node.transaction_logs["C"], told, limits)
            if whole
            else None
        )
        self.endpoint = endpoint = Endpoint(["/rpc"], dispatcher, requests=made)
        self.pooled = None if made is None else PooledRequests(made)
        self.state = ServerState()
        self.tick()

    def _observe(self, method: str, seconds: float, code: int = 0, count: int = 1) -> None:
        assert seconds >= 0
        self.counted += [(method, code)] * count

    def tick(self) -> None:
        """Change the server's default headers, as uvicorn does each second."""
        date = b"Thu, 26 Nov 2026 20:00:%02d GMT" % (len(self.counted) % 60)
        self.state.default_headers = [(b"date", date), (b"server", b"uvicorn")]

    def connect(self) -> tuple[DirectProtocol, Transport]:
        """Return a connection; requests that the direct endpoint passes on are answered `past`."""

        class Protocol(DirectProtocol):
            heads = RequestHeads(by_path([self.endpoint]))
            whole = self.endpoint.whole
            pooled = self.pooled

            def _read(self, rest: memoryview) -> None:
                self.transport.write(b"past")

        config = Config(app=lambda _scope: None, log_config=None)  # type: ignore[arg-type, return-value]
        config.load()
        protocol = Protocol(config=config, server_state=self.state, app_state={})
        transport = Transport()
        protocol.connection_made(transport)  # type: ignore[arg-type]
        return protocol, transport


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no call wait for a thread because the machine is busy; with `crowded` all calls do."""
    monkeypatch.setattr(shortcut, "CORES", 1)


@pytest.fixture
def both(chain) -> tuple[Served, Served]:
    for code in CONTRACTS:
        chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    made = Served(whole=False), Served(whole=True)
    for served in made:
        for body in bodies():
            served.endpoint.dispatcher.answer(body)  # fills the cache
        served.counted.clear()
    return made


async def receive(protocol: DirectProtocol, data: bytes) -> None:
    """Deliver a request in its own turn of the event loop, with a full time budget."""
    protocol.data_received(data)
    await asyncio.sleep(0)


def request(head: tuple[bytes, ...], body: bytes, line: bytes = b"POST /rpc HTTP/1.1") -> bytes:
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join((line, *head, length, b"", body))


def calls() -> list[bytes]:
    """Return bodies of calls that are answered from memory."""
    call = one("eth_call", {"to": COUNTER_TEXT}, "latest")
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    estimate = one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT})
    asked = (call, {**call, "id": "a"}, [call, balance, {**call, "id": 2}], estimate)
    return [json.dumps(each).encode() for each in asked]


def other_calls() -> list[bytes]:
    """Return bodies of calls that need the dispatcher."""
    to = ({"to": REVERTER_TEXT}, {"to": TELLER_TEXT, "data": "0x12"}, {"to": COUNTER_TEXT, "x": 1})
    methods = ("eth_call", "eth_estimateGas")
    return [json.dumps(one(method, each, "latest")).encode() for method in methods for each in to]


def bodies() -> list[bytes]:
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    return [
        *calls(),
        *other_calls(),
        *(json.dumps(one(name)).encode() for name in ("eth_blockNumber", "eth_chainId", "eth_x")),
        json.dumps(balance).encode(),
        json.dumps([{**balance, "id": n} for n in range(100)]).encode(),
        json.dumps([balance] * 201).encode(),
        b"{",
        b"",
    ]


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


def responses(served: Served, asked: list[bytes], head: tuple[bytes, ...] = PLAIN) -> list[bytes]:
    """Return the responses of one connection to the bodies, each sent again with a known request head."""

    async def ask() -> list[bytes]:
        protocol, transport = served.connect()
        for body in asked:
            for _ in range(2):
                await receive(protocol, request(head, body))
        protocol.connection_lost(None)
        return transport.written

    return asyncio.run(ask())


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


@pytest.fixture
def crowded(one_core: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat each call as long, and the calls of two connections as concurrent."""
    monkeypatch.setattr(select, "SECONDS_OF_LONG", 0.0)
    monkeypatch.setattr(shortcut, "NEAR_SECONDS", 3600.0)
    monkeypatch.setattr(shortcut, "CORES", 4)
    restart_node()


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The connections that wait for the crate's threads, one entry per wait."""
    seen: list[int] = []
    wait = PooledRequests.wait

    def noting(
        self: PooledRequests, loop: asyncio.AbstractEventLoop, connection: int, take: Take
    ) -> None:
        seen.append(connection)
        wait(self, loop, connection, take)

    monkeypatch.setattr(PooledRequests, "wait", noting)
    return seen


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "calls",
    [
        [{"to": COUNTER_TEXT}],
        # The second call cannot be answered there, but calls of its kind can.
        [{"to": COUNTER_TEXT}, {"to": COUNTER_TEXT, "gas": "0x5208"}],
    ],
)
@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_long_calls_of_several_connections_run_in_crate_threads(
    both, handed_over: list[int], method: str, calls: list[object]
) -> None:
    asked = [
        json.dumps({**one(method, call, "latest"), "id": n}).encode()
        for n, call in enumerate(calls)
    ]

    async def ask(served: Served) -> list[list[bytes]]:
        connections = [served.connect() for _ in range(4)]
        for _ in range(3):
            for body in asked:
                before = [len(transport.written) for _, transport in connections]
                for protocol, _ in connections:
                    await receive(protocol, request(PLAIN, body))
                for (_, transport), count in zip(connections, before, strict=True):
                    await transport.until(count + 1)
        for protocol, _ in connections:
            protocol.connection_lost(None)
        return [transport.written for _, transport in connections]

    found = [asyncio.run(ask(served)) for served in both]
    assert found[0] == found[1]
    assert (both[0].counted, both[0].endpoint.replies.read()) == (
        both[1].counted,
        both[1].endpoint.replies.read(),
    )
    assert len(set(handed_over)) >= 2


async def ask_by_turns(served: Served, body: bytes, count: int) -> None:
    """Send the body `count` times on each of two connections, in turns."""
    connections = [served.connect() for _ in range(2)]
    for number in range(1, count + 1):
        for protocol, transport in connections:
            await receive(protocol, request(PLAIN, body))
            await transport.until(number)
    for protocol, _ in connections:
        protocol.connection_lost(None)


@pytest.mark.usefixtures("crowded")
def test_failing_calls_are_soon_not_handed_to_threads(both, handed_over: list[int]) -> None:
    short_of_gas = {"to": COUNTER_TEXT, "gas": "0x5208"}
    # A call that waits too long on a busy machine does not count as a failure of its kind.
    for call, most in (({"to": COUNTER_TEXT}, 40), (short_of_gas, 20)):
        handed_over.clear()
        body = json.dumps(one("eth_call", call, "latest")).encode()
        asyncio.run(ask_by_turns(both[1], body, 20))
        assert 0 < len(handed_over) <= most


@pytest.mark.usefixtures("crowded")
def test_the_time_of_the_loop_keeps_no_call_from_threads(
    both, handed_over: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "SECONDS_OF_WHOLE", 0.0)
    restart_node()
    served = Served(whole=True)
    body = calls()[0]
    served.endpoint.dispatcher.answer(body)
    asyncio.run(ask_by_turns(served, body, 10))
    assert handed_over


def with_web_workers(count: int, *, in_threads: bool) -> Any:
    return pytest.param(
        in_threads, marks=pytest.mark.node_settings(web_workers=count), id=f"{count}"
    )


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "in_threads",
    [
        with_web_workers(1, in_threads=True),
        with_web_workers(2, in_threads=True),
        with_web_workers(3, in_threads=False),
        with_web_workers(8, in_threads=False),
    ],
)
def test_a_process_has_its_share_of_the_cores(
    both, handed_over: list[int], *, in_threads: bool
) -> None:
    asyncio.run(ask_by_turns(both[1], calls()[0], 5))
    assert bool(handed_over) is in_threads


@pytest.mark.usefixtures("crowded")
def test_calls_of_one_connection_run_without_thread(both, handed_over: list[int]) -> None:
    asked = [body for body in calls() if body.startswith(b"{")]
    assert len(responses(both[1], asked * 3)) == 6 * len(asked)
    assert handed_over == []


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
