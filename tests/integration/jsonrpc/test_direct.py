"""The direct door answers what it can as the raw door does, byte for byte, and leaves the rest."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from jsonrpc import envelope
from jsonrpc.asgi import RawDoor
from jsonrpc.direct import DirectProtocol, RequestHeads
from jsonrpc.dispatch import MISS, Dispatcher
from jsonrpc.geth import Geth
from jsonrpc.http import Endpoint, by_path
from jsonrpc.inflight import Replies
from jsonrpc.registry import MethodRegistry
from jsonrpc.throttle import LocalThrottle, Rate
from jsonrpc.workers import Workers
from tests.integration.patience import SECONDS

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
LONG = b'{"jsonrpc":"2.0","id":7,"method":"long"}'
THREAD = b'{"jsonrpc":"2.0","id":7,"method":"thread"}'
NOTE = b'{"jsonrpc":"2.0","method":"number"}'


class Connection(HttpToolsProtocol):
    """A connection that notes how many bytes the server has taken from it."""

    met: list["Connection"]
    """All that one server had so far; a subclass has it for its server."""
    taken = 0

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.met.append(self)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.taken += len(data)

    def is_at_rest(self, sent: int) -> bool:
        """Whether the server has all that was sent, and has answered what can be answered."""
        if self.transport.is_closing():
            return True
        cycle = self.cycle
        return self.taken == sent and (cycle is None or cycle.more_body or cycle.response_complete)


@dataclass
class Served:
    """Two servers of one application: with and without the direct door."""

    replies: Replies
    """Of both."""
    ports: dict[str, int]
    asgi: dict[str, int]
    """How many requests came to the application."""
    protocols: dict[str, type[Connection]]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    registry = MethodRegistry()
    registry.add("number", lambda: "0x10", hot=True)
    registry.add("long", lambda: "ab" * 5000, hot=True)
    registry.add("thread", lambda: 1)
    registry.add("whose", lambda client: client, hot=True, client=True)
    endpoint = Endpoint(["/rpc"], Dispatcher(registry))
    workers = Workers(2)

    async def nowhere(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"nowhere"})

    door = RawDoor(by_path([endpoint]), nowhere, workers)

    class Direct(Connection, DirectProtocol):
        met = []
        heads = RequestHeads(by_path([endpoint]))

    class Plain(Connection):
        met = []

    protocols: dict[str, type[Connection]] = {"direct": Direct, "plain": Plain}
    made = Served(endpoint.replies, {}, dict.fromkeys(protocols, 0), protocols)
    running = []
    for name, protocol in protocols.items():

        async def counted(scope: Any, receive: Any, send: Any, name: str = name) -> None:
            made.asgi[name] += 1
            await door(scope, receive, send)

        listener = socket.create_server(("127.0.0.1", 0))
        made.ports[name] = listener.getsockname()[1]
        config = uvicorn.Config(
            counted, http=protocol, loop="uvloop", lifespan="off", log_level="critical",
            proxy_headers=False, timeout_keep_alive=int(SECONDS),
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        running.append((server, thread, listener))
    yield made
    for server, thread, listener in running:
        server.should_exit = True
        thread.join(SECONDS)
        listener.close()
    workers.close()


def request(body: bytes = CALL, *headers: bytes, line: bytes = b"POST /rpc HTTP/1.1") -> bytes:
    usual = (b"Host: localhost", b"Content-Type: application/json")
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join((line, *usual, length, *headers, b"", body))


def exchange(served: Served, name: str, *pieces: bytes) -> bytes:
    """Send pieces on one connection, each when the one before is answered; return all answers."""
    met = served.protocols[name].met
    known, sent = len(met), 0
    with socket.create_connection(("127.0.0.1", served.ports[name]), SECONDS) as connection:
        for piece in pieces:
            connection.sendall(piece)
            sent += len(piece)
            deadline = time.monotonic() + SECONDS
            while len(met) == known or not met[known].is_at_rest(sent):
                assert time.monotonic() < deadline, "the server does not come to rest"
                time.sleep(0.001)
        connection.shutdown(socket.SHUT_WR)  # the server ends the connection then
        received = b""
        while part := connection.recv(65_536):
            received += part
    return re.sub(rb"date: [^\r]*\r\n", b"", received)


REQUESTS = {
    "plain": (request(),),
    "twice on a connection": (request(), request()),
    "a batch": (request(b"[" + CALL + b"," + CALL + b"]"),),
    "a notification": (request(NOTE),),
    "no JSON": (request(b"{"),),
    "an unknown method": (request(CALL.replace(b"number", b"nothing")),),
    "compressed": (request(LONG, b"Accept-Encoding: gzip"),),
    "a web page": (request(CALL, b"Origin: http://a.example"),),
    "keep-alive": (request(CALL, b"Connection: keep-alive"),),
    "close": (request(CALL, b"Connection: close"),),
    "in a thread": (request(THREAD), request()),
    "pipelined": (request() + request(),),
    "pipelined after a slow one": (request(THREAD) + request() + request(THREAD),),
    "in two pieces": (request()[:40], request()[40:]),
    "head and body": (request()[: -len(CALL)], CALL),
    "in the middle of the next": (request() + request()[:50], request()[50:]),
    "chunked": (
        b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(CALL), CALL),
    ),
    "length and chunked": (request(CALL, b"Transfer-Encoding: chunked"),),
    "two lengths": (request(CALL, b"Content-Length: 3"),),
    "a length that is none": (request().replace(b"Content-Length: 4", b"Content-Length: +4"),),
    "expect": (request(CALL, b"Expect: 100-continue"),),
    "a folded header": (request(CALL, b"X-A: b\r\n c"),),
    "a bare line feed": (request(CALL, b"X-A: b\nX-C: d"),),
    "a control character": (request(CALL, b"X-A: b\x00c"),),
    "a space before the colon": (request(CALL, b"X-A : b"),),
    "HTTP/1.0": (request(line=b"POST /rpc HTTP/1.0"),),
    "a query": (request(line=b"POST /rpc?x=1 HTTP/1.1"),),
    "another path": (request(line=b"POST /elsewhere HTTP/1.1"),),
    "an absolute target": (request(line=b"POST http://localhost/rpc HTTP/1.1"),),
    "GET": (b"GET /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n",),
    "another host": (request().replace(b"localhost", b"evil.example"),),
    "another type": (request().replace(b"application/json", b"text/plain"),),
    "no request at all": (b"POST \r\n\r\n",),
    "a long head": (request(CALL, b"X-A: " + b"a" * 3000),),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_both_doors_answer_the_same_bytes(served: Served, name: str) -> None:
    direct, plain = (exchange(served, kind, *REQUESTS[name]) for kind in ("direct", "plain"))

    assert direct == plain
    assert direct.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    "name",
    ["plain", "twice on a connection", "a batch", "a notification", "no JSON", "keep-alive",
     "compressed", "a web page"],
)  # fmt: skip
def test_what_is_plain_and_in_memory_never_becomes_asgi(served: Served, name: str) -> None:
    before = served.asgi["direct"]

    exchange(served, "direct", *REQUESTS[name])

    assert served.asgi["direct"] == before


def test_a_handler_that_asks_learns_whose_request_it_is(served: Served) -> None:
    call = request(CALL.replace(b"number", b"whose"))
    before = served.asgi["direct"]
    for address in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
        with socket.create_connection(
            ("127.0.0.1", served.ports["direct"]), SECONDS, source_address=(address, 0)
        ) as connection:
            for _ in range(2):
                connection.sendall(call)
                received = b""
                while not received.endswith(b"}"):
                    received += connection.recv(65_536)
                assert received.endswith(b'"result":"%b"}' % address.encode())
    assert served.asgi["direct"] == before


def test_what_the_direct_door_answers_is_counted_once(served: Served) -> None:
    before = served.replies.read().get(("POST", 200), 0)

    exchange(served, "direct", request(), request(THREAD))

    assert served.replies.read()["POST", 200] == before + 2


def test_a_body_is_read_once_by_whichever_doors_it_goes(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [CALL, THREAD, b"[%b,%b]" % (CALL, THREAD), b"{"]
    read = []

    def counted(body: bytes, most: int) -> Any:
        read.append(body)
        return envelope.read(body, most)

    monkeypatch.setattr(Geth, "read", staticmethod(counted))
    exchange(served, "direct", *map(request, bodies))

    assert read == bodies


def test_a_connection_that_says_nothing_more_is_kept_for_the_next_request(served: Served) -> None:
    address = "127.0.0.1", served.ports["direct"]
    with socket.create_connection(address, SECONDS) as connection:
        for body in (CALL, THREAD, CALL):
            connection.sendall(request(body))
            received = b""
            while not received.endswith(b"}"):
                part = connection.recv(65_536)
                assert part, "the connection has ended"
                received += part
            assert b'"id":7' in received


def test_an_endpoint_with_a_rate_limit_is_left_to_the_raw_door() -> None:
    dispatcher = Dispatcher(MethodRegistry())
    limited = Endpoint(["/rpc"], dispatcher, throttle=LocalThrottle(Rate(1, 1)))
    head = request().partition(b"\r\n\r\n")[0]

    assert RequestHeads(by_path([limited])).read(head) is None
    assert RequestHeads(by_path([Endpoint(["/rpc"], dispatcher)])).read(head) is not None


def test_a_door_that_fails_leaves_the_request_to_the_other(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = Dispatcher.answer_hot
    calls = []

    def fail_once(self: Dispatcher, body: bytes, connection: object = None) -> Any:
        calls.append(body)
        if len(calls) == 1:
            raise MemoryError
        return original(self, body, connection)

    monkeypatch.setattr(Dispatcher, "answer_hot", fail_once)

    assert b'"result":"0x10"' in exchange(served, "direct", request())
    assert "the direct door failed" in caplog.text
    assert original(Dispatcher(MethodRegistry()), THREAD) is not MISS


@pytest.mark.parametrize("name", ["direct", "plain"])
def test_what_cannot_be_answered_at_once_is_tried_so_by_one_door_only(
    served: Served, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    tried: list[bytes] = []
    answer_hot = Dispatcher.answer_hot

    def noting(self: Dispatcher, body: Any, *more: Any) -> Any:
        tried.append(body.text)
        return answer_hot(self, body, *more)

    monkeypatch.setattr(Dispatcher, "answer_hot", noting)
    assert exchange(served, name, request(THREAD)).endswith(b'"result":1}')
    assert tried == [THREAD]
