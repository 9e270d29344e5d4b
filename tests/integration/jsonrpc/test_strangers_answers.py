"""The cost of responses that clients do not read: one limit for all together, and slow clients are disconnected."""

import socket
import time
from contextlib import suppress

import pytest
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from jsonrpc.http.delivery import MinimumRate
from jsonrpc.http.uvicorn_protocol import ReadTimeouts
from jsonrpc.limits.memory import MemoryLimits
from tests.integration.jsonrpc.guarded import (
    ANSWER,
    CALL,
    Served,
    open_socket,
    until,
)
from tests.integration.jsonrpc.serving import JSON
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

MUCH = CALL.replace(b"number", b"much")
ASK_MUCH = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % len(MUCH) + MUCH
ASK_HOT = ASK_MUCH.replace(b"much", b"hot").replace(b": 40", b": 39")
"""A request that the direct endpoint answers."""
OPEN = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def narrow(served: Served, transport: str, *, ask: bool = True) -> socket.socket:
    """Request a long response (on a WebSocket only with `ask`), and read none of it."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    made.settimeout(SECONDS)
    made.connect(("127.0.0.1", served.port))
    if transport != "websocket":
        made.sendall(ASK_HOT if transport == "direct" else ASK_MUCH)
    else:
        made.sendall(OPEN)
        while not made.recv(65_536).endswith(b"\r\n\r\n"):
            pass
        if ask:
            made.sendall(Frame(Opcode.TEXT, MUCH).serialize(mask=True))
    return made


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_client_that_reads_nothing_is_disconnected(serve, transport: str) -> None:
    served = serve(ReadTimeouts(minimum_rate=MinimumRate(seconds=0.3)))
    with narrow(served, transport, ask=False) as peer:
        if transport == "websocket":
            pings = Frame(Opcode.PING, b"a" * 125).serialize(mask=True) * 1000
            peer.settimeout(2)
            with suppress(OSError):
                for _ in range(1000):
                    peer.sendall(pings)
        until(lambda: len(served.connections) == 0)


@pytest.mark.parametrize("transport", ["direct", "websocket"])
def test_slow_reader_is_disconnected(serve, transport: str) -> None:
    served = serve(ReadTimeouts(minimum_rate=MinimumRate(rate=1_000_000_000, seconds=0.5)))
    received = 0
    with narrow(served, transport) as peer, suppress(ConnectionResetError):
        while part := peer.recv(65_536):
            received += len(part)
            time.sleep(0.01)  # limits the client to some megabytes per second
    assert received < 16_000_000
    until(lambda: len(served.connections) == 0)
    until(lambda: served.memory.held == 0)


@pytest.mark.parametrize("transport", ["direct", "http", "websocket"])
def test_unread_responses_are_limited_in_total(serve, raw, transport: str) -> None:
    served = serve(memory=MemoryLimits(maximum=40_000_000, of_client=40_000_000))
    with narrow(served, transport), narrow(served, transport):
        until(lambda: served.memory.held > 32_000_000)
        http = raw(served.port)
        http.say(ASK_HOT if transport == "direct" else ASK_MUCH)
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


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_slow_reader_of_a_long_response_is_disconnected(serve, caplog, transport: str) -> None:
    served = serve(stall=1.0 if transport == "http" else 0.004)  # about a second for all
    with narrow(served, transport):
        until(lambda: served.memory.held > 16_000_000)
        until(lambda: len(served.connections) == 0)
        until(lambda: served.memory.held == 0)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_long_response_is_complete_and_its_memory_released(serve, raw) -> None:
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
