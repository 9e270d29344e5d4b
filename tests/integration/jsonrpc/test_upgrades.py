"""A request to upgrade to an unknown protocol is an ordinary request, and its body is not parsed as the next one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.replies import Endpoint, by_path
from tests.integration.jsonrpc.serving import JSON, serving
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
SLOW = b'{"jsonrpc":"2.0","id":7,"method":"thread"}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":"0x10"}'

JDK = (
    b"POST /rpc HTTP/1.1\r\n"
    b"Connection: Upgrade, HTTP2-Settings\r\n"
    b"Content-Length: 42\r\n"
    b"Host: 127.0.0.1:9650\r\n"
    b"HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n"
    b"Upgrade: h2c\r\n"
    b"User-Agent: Java-http-client/17.0.15\r\n"
    b"Content-Type: application/json\r\n"
    b"\r\n"
)
"""The first request of the JDK's HttpClient on each connection, as recorded."""


@dataclass
class Served:
    port: int
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Method, path and body of requests that reached the application behind the endpoint."""


@pytest.fixture
def served() -> Iterator[Served]:
    registry = MethodRegistry()
    registry.add("number", lambda: "0x10", hot=True)
    registry.add("thread", lambda: "0x10")
    endpoint = Endpoint(["/rpc"], Dispatcher(registry))
    workers = Workers(2)

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await receive()
            return
        message = await receive()
        made.asked.append((scope["method"], scope["path"], message["body"]))
        length = (b"content-length", b"9")
        await send({"type": "http.response.start", "status": 404, "headers": [length]})
        await send({"type": "http.response.body", "body": b"elsewhere"})

    app = AsgiRpc(by_path([endpoint]), behind, Answering(workers))

    class Protocol(DirectProtocol):
        heads = RequestHeads(by_path([endpoint]))
        websocket_paths = frozenset({"/ws"})

    with serving(app, Protocol) as port:
        made = Served(port)
        yield made
    workers.close()


@pytest.mark.parametrize("body", [CALL, SLOW], ids=["hot", "in a thread"])
@pytest.mark.parametrize("cuts", [(), (len(JDK),), (len(JDK) + 20,), (60, len(JDK))])
def test_the_jdks_first_posts_are_answered(served: Served, body: bytes, cuts) -> None:
    text = JDK + body
    with RawConnection(served.port) as stranger:
        for _ in range(3):
            for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True):
                stranger.say(text[start:end])
            status, head, answer = stranger.response()
            assert (status, answer) == (200, ANSWER)
            assert b"connection: close" not in head or cuts


def test_bytes_after_the_body_are_the_next_request(served: Served) -> None:
    plain = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: 42\r\n\r\n" + CALL
    with RawConnection(served.port) as stranger:
        stranger.say(JDK + CALL + plain + JDK + SLOW + plain)
        assert [stranger.response()[2] for _ in range(4)] == [ANSWER] * 4


def test_a_body_is_never_read_as_the_next_request(served: Served) -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n".ljust(42)
    with RawConnection(served.port) as stranger:
        stranger.say(JDK)
        stranger.say(smuggled)
        status, _, answer = stranger.response()
    assert (status, b"-32700" in answer) == (200, True)
    assert served.asked == []


@pytest.mark.parametrize(
    "line",
    [b"GET /elsewhere", b"GET /ws?x=1", b"OPTIONS /elsewhere", b"DELETE /elsewhere", b"GET /"],
)
def test_upgrade_without_body_is_an_ordinary_request(served: Served, line) -> None:
    text = line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n"
    with RawConnection(served.port) as stranger:
        for upgrade in (b"h2c", b"TLS/1.0", b"websocket, h2c"):
            stranger.say(text % upgrade)
            assert stranger.response()[0] == 404
    assert len(served.asked) == 3


@pytest.mark.parametrize(
    ("line", "body"),
    [(b"POST /ws", b""), (b"GET /elsewhere", b""), (b"GET /ws", b"x"), (b"POST /ws", b"abc")],
)
def test_websocket_is_opened_by_get_on_its_path_only(served: Served, line, body) -> None:
    opening = (
        b"%b HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%b\r\n"
    )
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    with RawConnection(served.port) as stranger:
        stranger.say(opening % (line, length) + body)
        assert stranger.response()[0] == 404
    assert [entry[2] for entry in served.asked] == [body]
    with RawConnection(served.port) as stranger:
        stranger.say(opening % (b"GET /ws", b""))
        assert stranger.response()[0] == 101


def test_upgrade_behind_a_running_request_is_an_ordinary_request(served) -> None:
    slow = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: 42\r\n\r\n" + SLOW
    opening = (
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with RawConnection(served.port) as connection:
        connection.say(slow + opening)
        assert connection.response()[::2] == (200, ANSWER)
        assert connection.response()[0] == 404
    with RawConnection(served.port) as connection:
        connection.say(slow + b"nonsense\r\n\r\n")
        assert b" 400 " not in connection.until_closed()


HEADS = {
    "length and chunked": (b"Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
    "chunked and length": (b"Transfer-Encoding: chunked\r\nContent-Length: 5", 400),
    "two lengths": (b"Content-Length: 5\r\nContent-Length: 50", 400),
    "the same length twice": (b"Content-Length: 5\r\nContent-Length: 5", 400),
    "a list of lengths": (b"Content-Length: 5, 5", 400),
    "a space before the colon": (b"Content-Length : 5", 400),
    "a coding before chunked": (b"Transfer-Encoding: gzip, chunked", 501),
    "identity and chunked": (b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", 501),
    "another coding": (b"Transfer-Encoding: xchunked", 501),
    "two hosts": (b"Content-Length: 5\r\nHost: elsewhere", 400),
    "a line feed alone": (b"X-A: b\nContent-Length: 5", 400),
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("upgrade", [b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"])
def test_ambiguous_framing_is_refused(served, name, upgrade) -> None:
    lines, status = HEADS[name]
    with RawConnection(served.port) as stranger:
        stranger.say(b"POST /elsewhere HTTP/1.1\r\n" + upgrade + JSON + lines + b"\r\n\r\n")
        stranger.say(b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = stranger.until_closed()
    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert b"connection: close" in received
    assert served.asked == []


@pytest.mark.parametrize(
    ("line", "status"),
    [(b"CONNECT localhost:1", 405), (b"GET /x HTTP/2.0", 505), (b"GET /x", 505), (b"NONE /x", 400)],
)
def test_unknown_protocols_are_refused(served: Served, line: bytes, status: int) -> None:
    version = b"" if status == 505 else b" HTTP/1.1"
    with RawConnection(served.port) as stranger:
        stranger.say(line + version + b"\r\nHost: localhost\r\n\r\n")
        assert stranger.until_closed().startswith(b"HTTP/1.1 %d " % status)
    assert served.asked == []


def test_trailers_are_no_headers(served: Served) -> None:
    chunked = b"5\r\n" + CALL[:5] + b"\r\n%x\r\n" % (len(CALL) - 5) + CALL[5:] + b"\r\n0\r\n"
    head = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n"
    with RawConnection(served.port) as stranger:
        stranger.say(head + chunked + b"Host: evil.example\r\nContent-Type: text/plain\r\n\r\n")
        assert stranger.response()[::2] == (200, ANSWER)
