"""What a connection may cost while it is no request: heads, waits, bodies that nobody reads, floods.

Waiting times are short here; that something is closed is seen, never assumed.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from jsonrpc.asgi import RawDoor
from jsonrpc.connections import ConnectionLimits, Connections
from jsonrpc.dialects import GETH
from jsonrpc.direct import DirectProtocol, Heads
from jsonrpc.dispatch import Dispatcher
from jsonrpc.gate import Gate, GateConfig
from jsonrpc.gathering import Gatherers
from jsonrpc.http import Endpoint, by_path
from jsonrpc.hub import Hub
from jsonrpc.memory import MemoryLimits, RequestMemory
from jsonrpc.protocol import Patience
from jsonrpc.registry import MethodRegistry
from jsonrpc.session import SocketLimits
from jsonrpc.socket_protocol import GuardedWebSocket
from jsonrpc.websocket import JsonRpcConsumer
from jsonrpc.workers import Workers
from tests.integration.jsonrpc.serving import JSON, serving
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":"0x10"}'
PLAIN = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: 42\r\n\r\n" + CALL


PATIENCE, CONNECTIONS, MEMORY = Patience(), ConnectionLimits(), MemoryLimits()


class Served:
    """A server, and what it holds."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = Connections()
        self.memory = RequestMemory()
        self.pipelined = 0
        """The most requests of one connection that waited for their turn."""
        self.tasks: set[Any] = set()
        """The server's own set of what it is answering."""
        self.hold = threading.Event()
        """While it is not set, who calls `slow` waits."""
        self.behind: list[tuple[str, bytes]] = []
        """Path and body of what came to the application behind the door."""

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stay:

        def start(
            patience: Patience = PATIENCE,
            connections: ConnectionLimits = CONNECTIONS,
            memory: MemoryLimits = MEMORY,
            *,
            body_seconds: float = SECONDS,
            message_seconds_: float = SECONDS,
            idle: float = SECONDS,
            stall: float = SECONDS,
        ) -> Served:
            made = Served()
            made.connections = Connections(connections)
            made.memory = RequestMemory(memory)
            registry = MethodRegistry()
            registry.add("number", lambda: "0x10", hot=True)
            registry.add("slow", lambda: str(made.hold.wait(SECONDS)))
            registry.add("much", lambda: "ab" * 8_000_000)
            registry.add("hot", lambda: "ab" * 8_000_000, hot=True)
            endpoint = Endpoint(["/rpc"], Dispatcher(registry), gzip_from=0)
            workers = Workers(2)
            stay.callback(workers.close)
            socket_door = JsonRpcConsumer.as_asgi(
                endpoint=endpoint, hub=Hub(), workers=workers, gatherers=Gatherers(workers),
                memory=made.memory, limits=SocketLimits(stall=stall),
            )  # fmt: skip

            async def behind(scope: Any, receive: Any, send: Any) -> None:
                if scope["type"] == "websocket":
                    await socket_door(scope, receive, send)
                    return
                body = b""
                while (message := await receive()).get("more_body"):
                    body += message["body"]
                made.behind.append((scope["path"], body + message["body"]))
                length = (b"content-length", b"6")
                await send({"type": "http.response.start", "status": 200, "headers": [length]})
                await send({"type": "http.response.body", "body": b"behind"})

            door = RawDoor(
                by_path([endpoint]), behind, workers, gate=Gate(GateConfig(), GETH),
                body_seconds=body_seconds, memory=made.memory, other_body=1000,
                takes_body=lambda path: path == "/form", stall_seconds=stall,
            )  # fmt: skip

            class Http(DirectProtocol):
                heads = Heads(by_path([endpoint]))
                held = made.connections
                memory = made.memory
                websocket_paths = frozenset({"/ws"})

                def on_headers_complete(self) -> None:
                    super().on_headers_complete()
                    made.tasks = self.tasks
                    made.pipelined = max(made.pipelined, len(self.pipeline))

            class WebSocket(GuardedWebSocket):
                held = made.connections
                memory = made.memory
                message_seconds = message_seconds_
                write_seconds = patience.write_seconds

            Http.patience = patience
            options = {"timeout_keep_alive": idle, "ws_max_size": 8_000_000}
            made.port = stay.enter_context(serving(door, Http, ws=WebSocket, **options))
            return made

        yield start


@pytest.fixture
def raw() -> Iterator[Callable[[int], RawConnection]]:
    with ExitStack() as stay:
        yield lambda port: stay.enter_context(RawConnection(port))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "opening",
    [b"P", b"POST /rpc HTTP/1.1\r\nX", b"\r\n", PLAIN + b"POST /r", b"GET /ws HTTP/1.1\r\n"],
)
def test_a_head_that_does_not_end_is_closed_in_its_time(serve, raw, opening: bytes) -> None:
    served = serve(Patience(head_seconds=0.3))
    connection = raw(served.port)
    connection.say(opening)
    received = connection.until_closed()
    assert b"HTTP/1.1 408 Request Timeout" in received
    assert (ANSWER in received) == opening.startswith(PLAIN)


def test_a_head_that_comes_in_pieces_is_served_in_its_time(serve, raw) -> None:
    served = serve(Patience(head_seconds=SECONDS))
    connection = raw(served.port)
    for _ in range(2):
        connection.say(b"\r\n")
        for start in range(0, 40, 10):
            connection.say(PLAIN[start : start + 10])
            time.sleep(0.01)
        connection.say(PLAIN[40:])
        assert connection.response()[::2] == (200, ANSWER)


def test_who_says_nothing_is_closed_when_the_idle_time_is_over(serve, raw) -> None:
    served = serve(idle=0.3)
    silent, asking = raw(served.port), raw(served.port)
    asking.say(PLAIN)
    assert asking.response()[2] == ANSWER
    assert silent.until_closed() == b""
    assert asking.until_closed() == b""


@pytest.mark.parametrize(
    "start",
    [b"POST /rpc HTTP/1.1\r\n" + JSON + b"X-A: ", b"POST /", b"GET /ws HTTP/1.1\r\n"
     b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: "],
)  # fmt: skip
@pytest.mark.parametrize("at_once", [True, False])
def test_a_head_over_the_limit_is_refused(serve, raw, start: bytes, at_once) -> None:
    served = serve()
    connection = raw(served.port)
    end = b" HTTP/1.1\r\n\r\n" if at_once else b""
    text = start + b"a" * 70_000 + end.removeprefix(b"" if start == b"POST /" else b" HTTP/1.1")
    connection.say(text)
    assert connection.until_closed().startswith(b"HTTP/1.1 431 ")
    large = raw(served.port)
    large.say(PLAIN.replace(b"Host", b"X-A: %b\r\nHost" % (b"a" * 60_000)))
    assert large.response()[2] == ANSWER


def test_a_websocket_whose_head_the_library_would_not_take_is_refused(
    serve, raw, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()
    for lines in (b"X-A: %b\r\n" % (b"a" * 9000), b"X-A: b\r\n" * 130):
        connection = raw(served.port)
        connection.say(
            b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            + lines + b"\r\n"
        )  # fmt: skip
        assert connection.until_closed().startswith(b"HTTP/1.1 431 ")
    assert caplog.records == []


def test_many_requests_in_one_piece_are_no_long_head(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(PLAIN * 900 + PLAIN[:50])
    for _ in range(900):
        assert connection.response()[2] == ANSWER
    connection.say(PLAIN[50:])
    assert connection.response()[2] == ANSWER
    start = b"POST /rpc HTTP/1.1\r\n" + JSON + b"X-A: " + b"a" * 40_000
    connection.say(PLAIN * 2 + start)
    assert [connection.response()[0] for _ in range(2)] == [200, 200]
    connection.say(b"a" * 40_000 + b"\r\n\r\n")
    assert connection.response()[0] == 431


SLOW = PLAIN.replace(b"number", b"slow").replace(b"42", b"40")
MANY = b"GET /x HTTP/1.1\r\n\r\n"


def test_requests_behind_a_slow_one_wait_as_bytes_and_are_all_answered(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(SLOW + MANY * 6_000)
    until(lambda: served.pipelined > 0)
    beside = raw(served.port)
    beside.say(PLAIN)
    assert beside.response()[2] == ANSWER
    served.hold.set()
    assert connection.response()[0] == 200
    for _ in range(6_000):
        assert connection.response()[::2] == (200, b"behind")
    assert served.pipelined < 400
    connection.say(PLAIN)
    assert connection.response()[2] == ANSWER


def test_bodies_behind_a_slow_request_arrive_whole(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    form = b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n" + b"a" * 900
    connection.say(SLOW + form * 300)
    until(lambda: served.pipelined > 0)
    served.hold.set()
    assert connection.response()[0] == 200
    for _ in range(300):
        assert connection.response()[::2] == (200, b"behind")
    assert served.behind == [("/form", b"a" * 900)] * 300
    assert served.pipelined < 20


def test_who_leaves_behind_two_requests_is_no_line_in_the_log(serve, caplog) -> None:
    served = serve()
    with RawConnection(served.port) as connection:
        connection.say(SLOW + MANY * 2)
        until(lambda: served.pipelined > 0)
    until(lambda: len(served.connections) == 0)
    served.hold.set()
    until(lambda: not served.tasks)
    assert caplog.records == []
    assert served.behind == []


def test_an_invalid_request_is_no_line_in_the_log(serve, raw, caplog) -> None:
    served = serve()
    for _ in range(3):
        connection = raw(served.port)
        connection.say(b"nonsense\r\n\r\n")
        assert connection.until_closed().startswith(b"HTTP/1.1 400 ")
    assert caplog.records == []


@pytest.mark.parametrize("kind", [b"Content-Length: 100000000", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize(("path", "status"), [("/form", 413), ("/static/x", 404), ("/rpc", 413)])
def test_a_body_too_large_is_refused_before_the_application(serve, raw, path, status, kind) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(b"POST %b HTTP/1.1\r\n%b%b\r\n\r\n" % (path.encode(), JSON, kind))
    received = b""
    try:
        for _ in range(600):
            connection.say(b"2710\r\n" + b" " * 10_000 + b"\r\n")
    except OSError:
        pass
    else:
        received = connection.until_closed()
    if status == 404 or b"chunked" not in kind:
        refused = raw(served.port)
        refused.say(b"POST %b HTTP/1.1\r\n%b%b\r\n\r\n" % (path.encode(), JSON, kind))
        received = refused.until_closed()
    assert not received or received.startswith(b"HTTP/1.1 %d " % status)
    assert not received or b"connection: close" in received
    assert served.behind == []
    assert served.memory.held == 0


def test_a_slow_body_is_given_up_before_the_application(serve, raw) -> None:
    served = serve(body_seconds=0.3)
    for kind in (b"Content-Length: 100", b"Transfer-Encoding: chunked"):
        connection = raw(served.port)
        connection.say(b"POST /form HTTP/1.1\r\n%b%b\r\n\r\n1\r\n" % (JSON, kind))
        assert connection.until_closed().startswith(b"HTTP/1.1 408 ")
    assert served.behind == []


def test_a_form_comes_to_the_application_whole(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    for pieces in ((b"a=1&", b"b=2"), (b"a=1&b=2",)):
        connection.say(b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n")
        for piece in pieces:
            connection.say(piece)
            time.sleep(0.02)
        assert connection.response()[::2] == (200, b"behind")
    connection.say(b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    assert connection.response()[::2] == (200, b"behind")
    assert served.behind == [("/form", b"a=1&b=2")] * 2 + [("/form", b"")]


def test_who_is_answered_before_the_body_reads_the_answer(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
    connection.say(b" " * 50_000)
    status, head, body = connection.response()
    assert (status, body) == (404, b"404 page not found\n")
    assert b"connection: close" in head
    assert connection.until_closed() == b""


def test_a_body_that_is_mostly_coding_is_refused(serve, raw) -> None:
    served = serve()
    head = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n"
    for piece in (b"1;" + b"a" * 30_000 + b"\r\n \r\n", b"0\r\n" + b"X-A: " + b"a" * 500_000):
        connection = raw(served.port)
        connection.say(head)
        try:
            for _ in range(100):
                connection.say(piece)
                time.sleep(0.001)
        except OSError:
            continue
        assert connection.until_closed().startswith(b"HTTP/1.1 400 ")
    fine = raw(served.port)
    fine.say(head)
    for place in range(0, 60_000, 10):
        fine.say(b"a\r\n" + CALL.ljust(60_000)[place : place + 10] + b"\r\n")
    fine.say(b"0\r\n\r\n")
    assert fine.response()[::2] == (200, ANSWER)


def test_a_full_address_loses_its_oldest_idle_connection_and_no_other_one(serve) -> None:
    served = serve(connections=ConnectionLimits(most=20, of_address=5))
    with ExitStack() as stay:
        other = stay.enter_context(RawConnection(served.port, "127.0.0.2"))
        lines = [stay.enter_context(RawConnection(served.port)) for _ in range(5)]
        for line in (other, *lines):
            line.say(PLAIN)
            assert line.response()[2] == ANSWER
        late = stay.enter_context(RawConnection(served.port))
        late.say(PLAIN)
        assert late.response()[2] == ANSWER
        assert lines[0].until_closed() == b""
        for line in (other, *lines[1:]):
            line.say(PLAIN)
            assert line.response()[2] == ANSWER
        assert served.connections.of("127.0.0.1") == 5
    until(lambda: len(served.connections) == 0)


def test_sockets_are_counted_and_the_rest_is_refused(serve, raw) -> None:
    served = serve(connections=ConnectionLimits(most=20, of_address=3))
    with ExitStack() as stay:
        for _ in range(3):
            stay.enter_context(connect(served.url, open_timeout=SECONDS))
        with RawConnection(served.port) as refused:
            assert refused.until_closed().startswith(b"HTTP/1.1 503 ")
        with RawConnection(served.port, "127.0.0.2") as other:
            other.say(PLAIN)
            assert other.response()[2] == ANSWER
    until(lambda: len(served.connections) == 0)


def open_socket(served: Served) -> ClientConnection:
    return connect(served.url, open_timeout=SECONDS, compression=None, ping_interval=None)


def closing(ws: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        ws.recv(timeout=SECONDS)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


@pytest.mark.parametrize(
    "pieces",
    [(b"\x81\xfe",), (b"\x81\xfe\xff\xff" + bytes(4) + b"abc",),
     (Frame(Opcode.TEXT, b"[", fin=False).serialize(mask=True),)],
    ids=["two bytes", "half a frame", "half a message"],
)  # fmt: skip
def test_a_message_that_does_not_end_is_closed_in_its_time(serve, pieces) -> None:
    served = serve(message_seconds_=0.3)
    with open_socket(served) as ws:
        ws.send(CALL)
        assert ws.recv(timeout=SECONDS) == ANSWER.decode()
        for piece in pieces:
            ws.socket.sendall(piece)
        assert closing(ws) == (1008, "message did not arrive in time")


def test_messages_that_never_pause_are_no_message_without_end(serve) -> None:
    served = serve(message_seconds_=0.5)
    with open_socket(served) as ws:
        frame = Frame(Opcode.TEXT, CALL).serialize(mask=True)
        rest, began, sent = b"", time.monotonic(), 0
        while time.monotonic() - began < 1.5:
            rest += frame * 3
            cut = len(rest) - 20  # each piece ends in the middle of a message
            ws.socket.sendall(rest[:cut])
            rest, sent = rest[cut:], sent + 3
            time.sleep(0.01)
        ws.socket.sendall(rest)
        for _ in range(sent):
            assert ws.recv(timeout=SECONDS) == ANSWER.decode()


def test_what_messages_hold_together_has_a_bound(serve) -> None:
    served = serve(memory=MemoryLimits(most=3_000_000, of_client=3_000_000))
    with ExitStack() as stay:
        sockets = [stay.enter_context(open_socket(served)) for _ in range(4)]
        for ws in sockets[:2]:
            ws.socket.sendall(b"\x81\xff" + struct.pack("!Q", 1_400_000) + bytes(4))
            ws.socket.sendall(b" " * 1_300_000)
        until(lambda: served.memory.held > 2_500_000)
        sockets[2].send(b" " * 1_000_000)
        assert closing(sockets[2]) == (1013, "server is busy")
        sockets[3].send(CALL)
        assert sockets[3].recv(timeout=SECONDS) == ANSWER.decode()
        with RawConnection(served.port) as http:
            http.say(b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: 1000000\r\n\r\n")
            http.say(b" " * 1_000_000)
            status, _, body = http.response()
            assert (status, b'"message":"server is busy"' in body) == (503, True)
        for ws in sockets[:2]:
            ws.socket.sendall(b" " * 100_000)  # the mask is zero
            assert "parse error" in str(ws.recv(timeout=SECONDS))
        until(lambda: served.memory.held == 0)


def test_small_fragments_are_counted_with_what_each_needs(serve) -> None:
    served = serve(memory=MemoryLimits(most=1_000_000, of_client=1_000_000))
    with open_socket(served) as ws:
        ws.socket.sendall(Frame(Opcode.TEXT, b"[", fin=False).serialize(mask=True))
        small = Frame(Opcode.CONT, b" ", fin=False).serialize(mask=True) * 1000
        with suppress(OSError):
            for _ in range(100):
                ws.socket.sendall(small)
        assert closing(ws) == (1013, "server is busy")


MUCH = CALL.replace(b"number", b"much")
ASK_MUCH = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % len(MUCH) + MUCH
ASK_HOT = ASK_MUCH.replace(b"much", b"hot").replace(b": 40", b": 39")
"""Answered at the direct door."""
OPEN = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def narrow(served: Served, door: str, *, ask: bool = True) -> socket.socket:
    """Ask for a long answer, on a WebSocket perhaps not, and read none of it."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    made.settimeout(SECONDS)
    made.connect(("127.0.0.1", served.port))
    if door != "websocket":
        made.sendall(ASK_HOT if door == "direct" else ASK_MUCH)
    else:
        made.sendall(OPEN)
        while not made.recv(65_536).endswith(b"\r\n\r\n"):
            pass
        if ask:
            made.sendall(Frame(Opcode.TEXT, MUCH).serialize(mask=True))
    return made


@pytest.mark.parametrize("door", ["http", "websocket"])
def test_who_does_not_take_the_answer_is_cut_off(serve, door: str) -> None:
    served = serve(Patience(write_seconds=0.3))
    with narrow(served, door, ask=False) as peer:
        if door == "websocket":
            pings = Frame(Opcode.PING, b"a" * 125).serialize(mask=True) * 1000
            peer.settimeout(2)
            with suppress(OSError):
                for _ in range(1000):
                    peer.sendall(pings)
        until(lambda: len(served.connections) == 0)


@pytest.mark.parametrize("door", ["direct", "http", "websocket"])
def test_answers_that_nobody_has_read_have_a_bound_together(serve, raw, door: str) -> None:
    served = serve(memory=MemoryLimits(most=40_000_000, of_client=40_000_000))
    with narrow(served, door), narrow(served, door):
        until(lambda: served.memory.held > 32_000_000)
        http = raw(served.port)
        http.say(ASK_HOT if door == "direct" else ASK_MUCH)
        status, head, body = http.response()
        assert (status, b'"message":"server is busy"' in body) == (503, True)
        assert b"connection: close" in head
        with open_socket(served) as ws:
            ws.send(MUCH)
            refusal = str(ws.recv(timeout=SECONDS))
            assert '"id":7' in refusal
            assert '"message":"server is busy"' in refusal
            ws.send(CALL)
            assert ws.recv(timeout=SECONDS) == ANSWER.decode()
    until(lambda: served.memory.held == 0)


@pytest.mark.parametrize("door", ["http", "websocket"])
def test_who_reads_a_long_answer_too_slowly_is_cut_off(serve, caplog, door: str) -> None:
    served = serve(stall=0.3 if door == "http" else 0.001)
    with narrow(served, door):
        until(lambda: served.memory.held > 16_000_000)
        until(lambda: len(served.connections) == 0)
        until(lambda: served.memory.held == 0)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_long_answer_comes_whole_and_is_counted_no_longer(serve, raw) -> None:
    served = serve()
    http = raw(served.port)
    for asked in (ASK_MUCH, ASK_HOT, ASK_MUCH):
        http.say(asked)
        status, _, body = http.response()
        assert (status, len(body), body[-6:]) == (200, 16_000_036, b'abab"}')
    with connect(served.url, open_timeout=SECONDS, compression=None, max_size=None) as ws:
        ws.send(MUCH)
        assert len(ws.recv(timeout=SECONDS)) == 16_000_036
    until(lambda: served.memory.held == 0)
