"""After an announcement by another process, requests wait until this process is current, and are answered in order."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from jsonrpc.dispatch.gate import HttpReply
from jsonrpc.http.fast_path import DirectProtocol
from tests.integration.jsonrpc.guarded import (
    ANSWER,
    CALL,
    PLAIN,
    SHORT,
    SHORT_ANSWERS,
    Panic,
    Served,
    open_socket,
    until,
)
from tests.integration.jsonrpc.test_answers_later import SLOW_ANSWER, SLOW_REQUEST
from tests.integration.jsonrpc.test_shortcut import Frames, frame
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only


class FollowingProcess:
    """A process that is current until an announcement, and then again when the test says so."""

    def __init__(self) -> None:
        self._is_current = True
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []

    def is_current(self) -> bool:
        return self._is_current

    def when_current(self, then: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append((asyncio.get_running_loop(), then))

    def announce(self) -> None:
        """Announce something: the process is behind from now on."""
        self._is_current = False

    def waits(self, count: int = 1) -> None:
        """Wait until `count` requests are waiting."""
        until(lambda: len(self._waiting) == count)

    def catch_up(self) -> None:
        """Become current again."""
        with self._lock:
            self._is_current = True
            waiting, self._waiting = self._waiting, []
        for loop, then in waiting:
            loop.call_soon_threadsafe(then)


HEAD = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"

Conversation = tuple[Callable[[], None], Callable[[], bytes]]
"""Two functions: one sends a request, the other reads its response."""


@pytest.fixture
def process() -> FollowingProcess:
    return FollowingProcess()


@pytest.fixture(params=["HTTP", "WebSocket"])
def converse(request: pytest.FixtureRequest, raw) -> Iterator[Callable[[Served], Conversation]]:
    """Return a function that opens a connection to a server."""

    def over_http(served: Served) -> Conversation:
        connection: RawConnection = raw(served.port)
        return lambda: connection.say(PLAIN), lambda: connection.response()[2]

    def over_websocket(served: Served) -> Conversation:
        socket = stay.enter_context(open_socket(served))
        return lambda: socket.send(SHORT.decode()), lambda: socket.recv(SECONDS).encode()

    with ExitStack() as stay:
        yield over_http if request.param == "HTTP" else over_websocket


def test_request_waits_until_the_process_is_current(serve, process, converse) -> None:
    served = serve(current_=process)
    ask, read = converse(served)
    ask()
    first = read()
    asked = len(served.asked_first)

    process.announce()
    ask()
    process.waits()
    assert len(served.asked_first) == asked, "nothing has been looked up"
    process.catch_up()

    assert read() == first
    assert first in {ANSWER, SHORT_ANSWERS[SHORT][0]}


class AnnouncingFrames(Frames):
    """Frames after whose answers something is announced."""

    def __init__(self, process: FollowingProcess) -> None:
        super().__init__()
        self._process = process

    def serve(self, data: bytes) -> tuple[bytes, int] | None:
        served = super().serve(data)
        if served is not None:
            self._process.announce()
        return served


def test_messages_that_arrived_together_wait_after_an_announcement(serve, process) -> None:
    frames = AnnouncingFrames(process)
    with open_socket(serve(frames=frames, current_=process)) as ws:
        ws.send(CALL.decode())
        assert ws.recv(SECONDS) == ANSWER.decode()
        ws.socket.sendall(frame(SHORT) * (Frames.MOST + 1))
        for _ in range(Frames.MOST):
            assert ws.recv(SECONDS) == '"by frame"'
        process.waits()
        asked = len(frames.asked)
        process.catch_up()
        assert ws.recv(SECONDS) == '"by frame"'
        assert len(frames.asked) == asked + 1
        process.catch_up()


class Live:
    """A page that is served immediately."""

    def get(self, head: bytes) -> HttpReply | None:
        return HttpReply(200, (), b"live") if head.startswith(b"GET /live ") else None


@pytest.mark.parametrize("line", [b"GET /live", b"POST /elsewhere"])
def test_requests_without_chain_data_do_not_wait(
    serve, process, raw, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(DirectProtocol, "pages", Live())
    connection = raw(serve(current_=process).port)
    process.announce()
    connection.say(line + HEAD)
    assert connection.response()[0] == 200
    process.waits(0)


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /other" + HEAD,
        PLAIN.replace(b"/rpc", b"/rpc?key=1"),
        PLAIN.replace(b"/rpc", b"http://localhost/rpc"),
        b"\r\n" + PLAIN,
    ],
)
def test_requests_that_may_read_the_head_wait(
    serve, process, raw, monkeypatch: pytest.MonkeyPatch, request_: bytes
) -> None:
    monkeypatch.setattr(DirectProtocol, "pages", Live())
    connection = raw(serve(current_=process).port)
    process.announce()
    connection.say(request_)
    process.waits(1)
    process.catch_up()
    assert connection.response()[0] in {200, 400, 404}


def test_connection_whose_waiting_request_fails_is_closed(
    serve, process, raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(current_=process)
    connection, other = raw(served.port), raw(served.port)
    process.announce()
    connection.say(PLAIN)
    process.waits()

    def panic(*_: object) -> None:
        raise Panic

    with monkeypatch.context() as patched:
        patched.setattr(DirectProtocol, "_decide", panic)
        process.catch_up()
        assert connection.until_closed() == b""
    other.say(PLAIN)
    assert other.response()[2] == ANSWER


def test_pipelined_requests_are_answered_in_order(serve, process, raw) -> None:
    served = serve(current_=process)
    connection = raw(served.port)
    process.announce()
    connection.say(PLAIN + SLOW_REQUEST + PLAIN)
    process.waits()
    served.hold.set()
    process.catch_up()

    assert [connection.response()[2] for _ in range(3)] == [ANSWER, SLOW_ANSWER, ANSWER]


def test_request_in_parts_waits(serve, process, raw) -> None:
    connection = raw(serve(current_=process).port)
    process.announce()
    connection.say(PLAIN[:-30])
    process.waits()
    connection.say(PLAIN[-30:])
    process.catch_up()

    assert connection.response()[2] == ANSWER


def test_connections_wait_independently(serve, process, raw) -> None:
    served = serve(current_=process)
    connections = [raw(served.port) for _ in range(3)]
    process.announce()
    for connection in connections:
        connection.say(PLAIN)
    process.waits(3)
    connections[1].close()
    process.catch_up()

    assert [connections[at].response()[2] for at in (0, 2)] == [ANSWER, ANSWER]


@pytest.mark.parametrize("request_", [PLAIN, SLOW_REQUEST, PLAIN.replace(b"/rpc", b"/form")])
def test_waiting_requests_are_answered_by_a_stopping_server(
    serve, process, raw, made: list[DirectProtocol], request_: bytes
) -> None:
    served = serve(current_=process)
    served.hold.set()
    connection = raw(served.port)
    process.announce()
    connection.say(request_)
    process.waits()
    (protocol,) = made
    protocol.loop.call_soon_threadsafe(protocol.shutdown)
    process.catch_up()

    status, _, body = connection.response()
    assert (status, body) in {(200, ANSWER), (200, SLOW_ANSWER), (200, b"behind")}
    assert connection.until_closed() == b""


def test_client_that_disconnects_while_waiting_is_released(serve, process, raw) -> None:
    served = serve(current_=process)
    connection = raw(served.port)
    with open_socket(served) as socket:
        process.announce()
        socket.send(SHORT.decode())
        connection.say(PLAIN)
        process.waits(2)
        socket.socket.close()
        connection.close()
        process.catch_up()

        until(lambda: not served.connections)
