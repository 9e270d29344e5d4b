"""The cost of a connection that sends no complete request: heads, waits, unread bodies, floods.

Time limits are short here. Tests always observe that a connection is closed; they never assume it.
"""

import logging
import struct
import time
from contextlib import ExitStack, suppress

import pytest
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.http.uvicorn_protocol import ReadTimeouts
from jsonrpc.limits.connections import ConnectionLimits
from jsonrpc.limits.memory import MemoryLimits
from tests.integration.jsonrpc.guarded import ANSWER, CALL, PLAIN, closing, open_socket, until
from tests.integration.jsonrpc.serving import JSON
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only


@pytest.mark.parametrize(
    "opening",
    [b"P", b"POST /rpc HTTP/1.1\r\nX", b"\r\n", PLAIN + b"POST /r", b"GET /ws HTTP/1.1\r\n"],
)
def test_endless_head_is_closed_in_time(serve, raw, opening: bytes) -> None:
    served = serve(ReadTimeouts(head_seconds=0.3))
    connection = raw(served.port)
    connection.say(opening)
    received = connection.until_closed()
    assert b"HTTP/1.1 408 Request Timeout" in received
    assert (ANSWER in received) == opening.startswith(PLAIN)


def test_head_in_pieces_is_served(serve, raw) -> None:
    served = serve(ReadTimeouts(head_seconds=SECONDS))
    connection = raw(served.port)
    for _ in range(2):
        connection.say(b"\r\n")
        for start in range(0, 40, 10):
            connection.say(PLAIN[start : start + 10])
            time.sleep(0.01)
        connection.say(PLAIN[40:])
        assert connection.response()[::2] == (200, ANSWER)


def test_silent_connection_is_closed_after_the_idle_time(serve, raw) -> None:
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


def test_overlong_websocket_head_is_refused(serve, raw, caplog: pytest.LogCaptureFixture) -> None:
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


def test_many_pipelined_requests_do_not_exceed_the_head_limit(serve, raw) -> None:
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


def test_requests_behind_a_slow_one_are_kept_unparsed_and_answered(serve, raw) -> None:
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


def test_client_that_disconnects_with_queued_requests_is_not_logged(serve, caplog) -> None:
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


def test_slow_body_is_refused_before_the_application(serve, raw) -> None:
    served = serve(body_seconds=0.3)
    for kind in (b"Content-Length: 100", b"Transfer-Encoding: chunked"):
        connection = raw(served.port)
        connection.say(b"POST /form HTTP/1.1\r\n%b%b\r\n\r\n1\r\n" % (JSON, kind))
        assert connection.until_closed().startswith(b"HTTP/1.1 408 ")
    assert served.behind == []


def test_form_reaches_the_application_complete(serve, raw) -> None:
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


def test_response_before_the_body_is_readable(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
    connection.say(b" " * 50_000)
    status, head, body = connection.response()
    assert (status, body) == (404, b"404 page not found\n")
    assert b"connection: close" in head
    assert connection.until_closed() == b""


def test_chunk_overhead_is_limited(serve, raw) -> None:
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


def test_address_at_its_limit_loses_its_oldest_idle_connection(serve) -> None:
    served = serve(connections=ConnectionLimits(maximum=20, of_address=5))
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


@pytest.mark.parametrize(
    "headers", [b"Host: evil.example\r\n", b"Host: localhost\r\nOrigin: null\r\n"]
)
def test_repeated_refused_websockets_are_logged_once(
    serve, raw, headers: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve(gate=GateConfig(websocket_origins=("https://a.example",)))
    opening = (
        b"GET /ws HTTP/1.1\r\n%bConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    for _ in range(10):
        refused = raw(served.port)
        refused.say(opening % headers)
        assert refused.until_closed().startswith(b"HTTP/1.1 403 ")
    with open_socket(served):  # once this is answered, the server has finished with the others
        (record,) = [entry for entry in caplog.records if entry.levelno >= logging.INFO]

    assert (record.name, record.levelno) == ("jsonrpc", logging.WARNING)
    assert "a WebSocket from 127.0.0.1 was refused: " in record.message
    assert record.message.endswith("(1 more since the last such message)")


def test_sockets_are_counted_and_the_rest_is_refused(serve, raw) -> None:
    served = serve(connections=ConnectionLimits(maximum=20, of_address=3))
    with ExitStack() as stay:
        for _ in range(3):
            stay.enter_context(connect(served.url, open_timeout=SECONDS))
        with RawConnection(served.port) as refused:
            assert refused.until_closed().startswith(b"HTTP/1.1 503 ")
        with RawConnection(served.port, "127.0.0.2") as other:
            other.say(PLAIN)
            assert other.response()[2] == ANSWER
    until(lambda: len(served.connections) == 0)


@pytest.mark.parametrize(
    "pieces",
    [(b"\x81\xfe",), (b"\x81\xfe\xff\xff" + bytes(4) + b"abc",),
     (Frame(Opcode.TEXT, b"[", fin=False).serialize(mask=True),)],
    ids=["two bytes", "half a frame", "half a message"],
)  # fmt: skip
def test_endless_message_is_closed_in_time(serve, pieces) -> None:
    served = serve(message_seconds_=0.3)
    with open_socket(served) as ws:
        ws.send(CALL)
        assert ws.recv(timeout=SECONDS) == ANSWER.decode()
        for piece in pieces:
            ws.socket.sendall(piece)
        assert closing(ws) == (1008, "message did not arrive in time")


def test_continuous_messages_do_not_count_as_one_endless_message(serve) -> None:
    served = serve(message_seconds_=2.0)
    with open_socket(served) as ws:
        frame = Frame(Opcode.TEXT, CALL).serialize(mask=True)
        rest, began, sent = b"", time.monotonic(), 0
        while time.monotonic() - began < 2.5:
            rest += frame * 3
            cut = len(rest) - 20  # each piece ends in the middle of a message
            ws.socket.sendall(rest[:cut])
            rest, sent = rest[cut:], sent + 3
            time.sleep(0.01)
        ws.socket.sendall(rest)
        for _ in range(sent):
            assert ws.recv(timeout=SECONDS) == ANSWER.decode()


def test_memory_of_all_messages_is_limited(serve) -> None:
    served = serve(memory=MemoryLimits(maximum=3_000_000, of_client=3_000_000))
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


def test_small_fragments_count_with_their_overhead(serve) -> None:
    served = serve(memory=MemoryLimits(maximum=1_000_000, of_client=1_000_000))
    with open_socket(served) as ws:
        ws.socket.sendall(Frame(Opcode.TEXT, b"[", fin=False).serialize(mask=True))
        small = Frame(Opcode.CONT, b" ", fin=False).serialize(mask=True) * 1000
        with suppress(OSError):
            for _ in range(100):
                ws.socket.sendall(small)
        assert closing(ws) == (1013, "server is busy")
