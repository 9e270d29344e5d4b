"""A server with every limit for unknown clients, its state, and raw connections to it."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import Gate, GateConfig
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering, Current
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import Endpoint, WholeFrames, WholeRequests, by_path
from jsonrpc.http.uvicorn_protocol import ReadTimeouts
from jsonrpc.limits.connections import ConnectionLimits, Connections
from jsonrpc.limits.interpreter import WORK_SECONDS, Interpreter
from jsonrpc.limits.memory import MemoryLimits, RequestMemory
from jsonrpc.websocket.consumer import JsonRpcConsumer
from jsonrpc.websocket.hub import Hub, SocketExchange
from jsonrpc.websocket.outbound import notify
from jsonrpc.websocket.session import SocketLimits
from jsonrpc.websocket.uvicorn_protocol import GuardedWebSocket
from tests.integration.jsonrpc.serving import JSON, serving
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":"0x10"}'
SHORT = b'{"jsonrpc":"2.0","id":1,"method":"short"}'
LONG = b'{"jsonrpc":"2.0","id":1,"method":"short","params":["' + b"a" * 500 + b'"]}'
HUGE = b'{"jsonrpc":"2.0","id":1,"method":"huge"}'
HEAVY = b'{"jsonrpc":"2.0","id":1,"method":"number","params":[]}'
BROKEN = b'{"jsonrpc":"2.0","id":7,"method":"number","params":[ ]}'


class Panic(BaseException):
    """The exception that a panic in a native extension raises."""


SHORT_ANSWERS: dict[bytes, tuple[bytes, str | None]] = {
    SHORT: (b'"short"', "short"),
    LONG: (b'"long"', "short"),
    HUGE: (b'"%b"' % (b"a" * 400_000), "huge"),
    HEAVY: (b"", None),
}
"""Responses of the shortcut; `HEAVY` is too expensive for it."""
PLAIN = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: 42\r\n\r\n" + CALL


PATIENCE, CONNECTIONS, MEMORY = ReadTimeouts(), ConnectionLimits(), MemoryLimits()


class Served:
    """A server, and its observable state."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = Connections()
        self.memory = RequestMemory()
        self.hub = Hub()
        self.loop: asyncio.AbstractEventLoop | None = None
        """The server's event loop, set by the first subscription."""
        self.pipelined = 0
        """The largest number of queued requests on one connection."""
        self.tasks: set[Any] = set()
        """The server's own set of tasks that answer requests."""
        self.hold = threading.Event()
        """Calls of `slow` wait until this event is set."""
        self.called: list[str] = []
        """Names of the started calls that run in threads, `slow` and `note`."""
        self.workers = Workers(2)
        self.asked_first: list[bytes] = []
        """Bodies that the shortcut was asked to answer."""
        self.pauses: list[float] = []
        """Lengths of the pauses that the event loop made for threads."""
        ticks = itertools.count()
        self.interpreter = Interpreter(
            clock=lambda: next(ticks) * WORK_SECONDS, sleep=self.pauses.append
        )
        self.behind: list[tuple[str, bytes]] = []
        """Path and body of requests that reached the application behind the endpoint."""

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    def publish(self, *results: bytes) -> None:
        """Send results to all subscribers of `news`, and return once they are being sent."""
        assert self.loop is not None
        sending = notify(self.hub.subscriptions("news"), results)
        asyncio.run_coroutine_threadsafe(sending, self.loop).result(SECONDS)


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stay:

        def start(
            patience: ReadTimeouts = PATIENCE,
            connections: ConnectionLimits = CONNECTIONS,
            memory: MemoryLimits = MEMORY,
            *,
            body_seconds: float = SECONDS,
            message_seconds_: float = SECONDS,
            idle: float = SECONDS,
            stall: float = SECONDS,
            frames: WholeFrames | None = None,
            requests: WholeRequests | None = None,
            current_: Current | None = None,
            gate: GateConfig | None = None,
        ) -> Served:
            made = Served()
            made.connections = Connections(connections)
            made.memory = RequestMemory(memory)
            registry = MethodRegistry()
            registry.add("number", lambda: "0x10", hot=True)

            def slow() -> str:
                made.called.append("slow")
                return str(made.hold.wait(SECONDS))

            registry.add("slow", slow)
            registry.add("note", lambda: made.called.append("note"))
            registry.add("much", lambda: "ab" * 8_000_000)
            registry.add("hot", lambda: "ab" * 8_000_000, hot=True)

            def subscribe(exchange: SocketExchange) -> str:
                made.loop = asyncio.get_running_loop()
                return exchange.subscribe("news")

            registry.add("subscribe", subscribe, connection=True, hot=True)

            def shortcut(body: bytes, _calls: int, _bytes: int) -> tuple[bytes, str | None] | None:
                made.asked_first.append(body)
                if body == BROKEN:
                    raise Panic
                return SHORT_ANSWERS.get(body)

            dispatcher = Dispatcher(registry, shortcut=shortcut, interpreter=made.interpreter)
            endpoint = Endpoint(
                ["/rpc"], dispatcher, gate or GateConfig(), gzip_from=0, frames=frames
            )
            workers, answering_ = made.workers, Answering(made.workers)
            stay.callback(workers.close)
            websocket = JsonRpcConsumer.as_asgi(
                endpoint=endpoint, hub=made.hub, answering=answering_,
                memory=made.memory, limits=SocketLimits(stall=stall),
            )  # fmt: skip

            async def behind(scope: Any, receive: Any, send: Any) -> None:
                if scope["type"] == "websocket":
                    await websocket(scope, receive, send)
                    return
                body = b""
                while (message := await receive()).get("more_body"):
                    body += message["body"]
                made.behind.append((scope["path"], body + message["body"]))
                length = (b"content-length", b"6")
                await send({"type": "http.response.start", "status": 200, "headers": [length]})
                await send({"type": "http.response.body", "body": b"behind"})

            app = AsgiRpc(
                by_path([endpoint]), behind, answering_, gate=Gate(GateConfig(), GETH),
                body_seconds=body_seconds, memory=made.memory, other_body=1000,
                takes_body=lambda path: path == "/form", stall_seconds=stall,
            )  # fmt: skip

            class Http(DirectProtocol):
                heads = RequestHeads(by_path([endpoint]))
                whole = requests
                pooled = PooledRequests(requests) if requests else None
                answering = answering_
                stall_seconds = stall
                held = made.connections
                memory = made.memory
                interpreter = made.interpreter
                current = current_
                independent_paths = frozenset({b"/elsewhere"})
                websocket_paths = frozenset({"/ws"})

                def on_headers_complete(self) -> None:
                    super().on_headers_complete()
                    made.tasks = self.tasks
                    made.pipelined = max(made.pipelined, len(self.pipeline))

            class WebSocket(GuardedWebSocket):
                held = made.connections
                memory = made.memory
                interpreter = made.interpreter
                current = current_
                message_seconds = message_seconds_
                minimum_rate = patience.minimum_rate

            Http.patience = patience
            options = {"timeout_keep_alive": idle, "ws_max_size": 8_000_000}
            made.port = stay.enter_context(serving(app, Http, ws=WebSocket, **options))
            return made

        yield start


@pytest.fixture
def raw() -> Iterator[Callable[[int], RawConnection]]:
    with ExitStack() as stay:
        yield lambda port: stay.enter_context(RawConnection(port))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[DirectProtocol]:
    """The connections of all servers, oldest first."""
    found: list[DirectProtocol] = []
    connection_made = DirectProtocol.connection_made

    def noting(self: DirectProtocol, transport: Any) -> None:
        found.append(self)
        connection_made(self, transport)

    monkeypatch.setattr(DirectProtocol, "connection_made", noting)
    return found


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[DirectProtocol]:
    """The connections checked by the keep-alive timeout, one entry per check."""
    found: list[DirectProtocol] = []
    handler = DirectProtocol.timeout_keep_alive_handler

    def noting(self: DirectProtocol) -> None:
        found.append(self)
        handler(self)

    monkeypatch.setattr(DirectProtocol, "timeout_keep_alive_handler", noting)
    return found


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def open_socket(served: Served) -> ClientConnection:
    return connect(served.url, open_timeout=SECONDS, compression=None, ping_interval=None)


def closing(ws: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        ws.recv(timeout=SECONDS)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason
