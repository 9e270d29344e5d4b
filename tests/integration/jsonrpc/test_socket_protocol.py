"""Data queued at a WebSocket: messages not yet read by the application, and frames without content.

The application is slow on purpose; a JSON-RPC application is slow only under load.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from jsonrpc.http.uvicorn_protocol import GuardedProtocol
from jsonrpc.limits.memory import MemoryLimits, RequestMemory
from jsonrpc.websocket import uvicorn_protocol
from jsonrpc.websocket.uvicorn_protocol import GuardedWebSocket
from tests.integration.jsonrpc.serving import serving
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only

CONTINUED = Frame(Opcode.TEXT, b"[", fin=False).serialize(mask=True)
EMPTY = Frame(Opcode.CONT, b"", fin=False).serialize(mask=True)
OPENING = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PONG = Frame(Opcode.PONG, b"").serialize(mask=True)
PING = Frame(Opcode.PING, b"").serialize(mask=True)


class Slow:
    """Answers each message with its size, but reads none until `free` is set."""

    def __init__(self) -> None:
        self.port = 0
        self.free = threading.Event()
        self.memory = RequestMemory(MemoryLimits(maximum=3_000_000, of_client=3_000_000))
        self.most_parsed = 0
        """The most frames that were parsed in one call."""

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.to_thread(self.free.wait, SECONDS)
        while (message := await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": str(len(message["bytes"]))})


@pytest.fixture
def serve() -> Iterator[Callable[..., Slow]]:
    with ExitStack() as stay:

        def start(seconds: float = SECONDS) -> Slow:
            slow = Slow()
            stay.callback(slow.free.set)

            class WebSocket(GuardedWebSocket):
                memory = slow.memory
                message_seconds = seconds

                def handle_events(self) -> None:
                    slow.most_parsed = max(slow.most_parsed, len(self.conn.events))
                    super().handle_events()

            options = {"ws": WebSocket, "ws_max_size": 8_000_000, "ws_per_message_deflate": False}
            slow.port = stay.enter_context(serving(slow, GuardedProtocol, **options))
            return slow

        yield start


def open_socket(served: Slow) -> ClientConnection:
    url = f"ws://127.0.0.1:{served.port}/ws"
    return connect(url, open_timeout=SECONDS, compression=None, ping_interval=None)


def closing(ws: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        ws.recv(timeout=SECONDS)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


def until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(int(SECONDS * 100)):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it never came")


def test_message_received_in_time_is_not_timed_out_while_queued(serve) -> None:
    served = serve(seconds=1.0)
    with open_socket(served) as ws:
        message = Frame(Opcode.TEXT, b" " * 300_000).serialize(mask=True)
        sender = threading.Thread(target=ws.socket.sendall, args=(message * 4,))
        sender.start()
        threading.Timer(2.5, served.free.set).start()  # longer than the limit of a message
        for _ in range(4):
            assert ws.recv(timeout=SECONDS) == "300000"
        sender.join(SECONDS)


def test_unread_messages_count_against_the_limit(serve) -> None:
    served = serve()
    with ExitStack() as stay:
        sockets = [stay.enter_context(open_socket(served)) for _ in range(3)]
        for ws in sockets[:2]:
            ws.send(b" " * 1_400_000)
        until(lambda: served.memory.held == 2_800_000)
        sockets[2].send(b" " * 1_000_000)
        assert closing(sockets[2]) == (1013, "server is busy")
        served.free.set()
        for ws in sockets[:2]:
            assert ws.recv(timeout=SECONDS) == "1400000"
        until(lambda: served.memory.held == 0)


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (4_000_000, b"\x03\xf5server is busy"),
        (9_000_000, b"\x03\xf1frame with 9000000 bytes exceeds limit of 8000000 bytes"),
    ],
)
def test_refused_sender_can_read_the_reason(
    serve, monkeypatch: pytest.MonkeyPatch, size: int, why: bytes
) -> None:
    monkeypatch.setattr(uvicorn_protocol, "LINGER_SECONDS", SECONDS)
    served = serve()
    served.free.set()
    with RawConnection(served.port) as connection:
        connection.say(OPENING)
        assert connection.response()[0] == 101
        connection.say(Frame(Opcode.TEXT, b" " * size).serialize(mask=True)[:3_100_000])
        assert connection.read(2 + len(why)) == b"\x88%c%b" % (len(why), why)
        assert served.memory.held == 0
        for _ in range(3):  # a reset would disturb the second connection
            connection.say(b" " * 10_000)


def test_refused_client_is_disconnected_soon(serve) -> None:
    served = serve()
    served.free.set()
    with RawConnection(served.port) as connection:
        connection.say(OPENING)
        assert connection.response()[0] == 101
        connection.say(Frame(Opcode.TEXT, b" " * 4_000_000).serialize(mask=True)[:3_010_000])
        assert connection.until_closed().endswith(b"server is busy")


def test_memory_of_unread_messages_is_released_on_close(serve) -> None:
    served = serve()
    with open_socket(served) as ws:
        ws.send(b" " * 1_400_000)
        until(lambda: served.memory.held == 1_400_000)
        served.free.set()
    until(lambda: served.memory.held == 0)


@pytest.mark.parametrize(("first", "frame"), [(b"", PONG), (b"", PING), (CONTINUED, EMPTY)])
def test_flood_of_empty_frames_is_parsed_in_steps_and_closes(
    serve, first: bytes, frame: bytes
) -> None:
    served = serve()
    served.free.set()
    with open_socket(served) as ws:
        ws.socket.sendall(first + frame * 1_500)
        assert closing(ws) == (1008, "too many frames without a message")
    assert served.most_parsed < 1_000


def test_many_small_messages_in_one_write_are_answered(serve) -> None:
    served = serve()
    with open_socket(served) as ws:
        piece = Frame(Opcode.TEXT, b"ab").serialize(mask=True) + PONG + PING
        ws.socket.sendall(piece * 2_000)
        served.free.set()
        for _ in range(2_000):
            assert ws.recv(timeout=SECONDS) == "2"
    assert served.most_parsed < 1_000
