"""The direct endpoint answers the same bytes as the raw endpoint, and passes on requests it cannot answer."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jsonrpc.dispatch import envelope
from jsonrpc.dispatch.dialects import Geth
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.dispatch.gate import HttpReply
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http import fast_path, replies
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.plain_heads import RequestHeads, read_headers
from jsonrpc.http.replies import Endpoint, by_path
from jsonrpc.limits.interpreter import LoopTurn
from jsonrpc.limits.throttle import LocalThrottle, Rate
from tests.builders.interface import Clock, refuse_pages
from tests.integration.jsonrpc.guarded import until
from tests.integration.jsonrpc.three_servers import Served, exchange, three_servers
from tests.integration.jsonrpc.three_servers import request as posted
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

CALL = b'{"jsonrpc":"2.0","id":7,"method":"number"}'
LONGER = b'{"jsonrpc":"2.0","id":7,"method":"longer"}'
LONG = b'{"jsonrpc":"2.0","id":7,"method":"long"}'
THREAD = b'{"jsonrpc":"2.0","id":7,"method":"thread"}'
TOGETHER = b'{"jsonrpc":"2.0","id":7,"method":"together"}'
LONG_THREAD = b'{"jsonrpc":"2.0","id":7,"method":"long_thread"}'
GUARDED = b'{"jsonrpc":"2.0","id":7,"method":"guarded"}'
NOTE_THREAD = b'{"jsonrpc":"2.0","method":"thread"}'
NOTE = b'{"jsonrpc":"2.0","method":"number"}'


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    registry = MethodRegistry()
    registry.add("number", lambda: "0x10", hot=True)
    registry.add("long", lambda: "ab" * 5000, hot=True)
    registry.add("longer", lambda: "ab" * 50_000, hot=True)
    registry.add("thread", lambda: 1)
    registry.add("together", vectorized=lambda calls: ["0x2"] * len(calls))
    registry.add("long_thread", lambda: "ab" * 50_000)
    registry.add("whose", lambda client: client, hot=True, client=True)
    registry.add("guarded", lambda: "0x1", guard=refuse_pages)
    endpoint = Endpoint(["/rpc"], Dispatcher(registry))
    workers = Workers(2)
    answering = Answering(workers)
    app = AsgiRpc(by_path([endpoint]), elsewhere, answering)
    heads = RequestHeads(by_path([endpoint]))
    with three_servers(app, endpoint.replies, heads, OnePage(), answering) as made:
        yield made
    workers.close()


async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
    page = scope["path"] == "/page" and scope["method"] == "GET"
    headers = [(b"x-page", b"1"), (b"content-length", b"4")] if page else []
    await send({"type": "http.response.start", "status": 503 if page else 404, "headers": headers})
    await send({"type": "http.response.body", "body": b"page" if page else b"nowhere"})


class OnePage:
    """The application's page, for the usual request."""

    def get(self, head: bytes) -> HttpReply | None:
        if not head.startswith(b"GET /page HTTP/1.1\r\n"):
            return None
        if read_headers(head.split(b"\r\n")[1:]) is None:
            return None
        return HttpReply(503, ((b"x-page", b"1"),), b"page")


def request(body: bytes = CALL, *headers: bytes, line: bytes = b"POST /rpc HTTP/1.1") -> bytes:
    return posted(body, *headers, line=line)


def get(*headers: bytes, line: bytes = b"GET /page HTTP/1.1") -> bytes:
    return b"\r\n".join((line, b"Host: localhost", *headers, b"", b""))


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
    "pages of two sites on a connection": (
        request(GUARDED),
        request(GUARDED, b"Origin: http://a.example"),
        request(b"[%b]" % GUARDED, b"Origin: http://b.example"),
        request(GUARDED),
    ),
    "in a thread": (request(THREAD), request()),
    "a notification in a thread": (request(NOTE_THREAD), request()),
    "a batch in a thread": (request(b"[%b,%b]" % (CALL, THREAD)), request()),
    "gathered": (request(TOGETHER), request(TOGETHER)),
    "a web page in a thread": (request(THREAD, b"Origin: http://a.example"),),
    "long from a thread": (request(LONG_THREAD), request()),
    "compressed from a thread": (request(LONG_THREAD, b"Accept-Encoding: gzip"), request()),
    "a long body for a thread": (request(b" " * 100_000 + THREAD), request()),
    "half of the next behind a slow one": (request(THREAD) + request()[:30], request()[30:]),
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
    "long": (request(LONGER),),
    "long and compressed": (request(LONGER, b"Accept-Encoding: gzip"), request()),
    "a page": (get(),),
    "pages and calls": (get(), request(), get(), request(THREAD), get()),
    "two pages at once": (get() + get(),),
    "a page and a call at once": (get() + request(),),
    "a page behind a slow call": (request(THREAD) + get(),),
    "a page in two pieces": (get()[:20], get()[20:]),
    "a page to be closed": (get(b"Connection: close"),),
    "a page with a body": (get(b"Content-Length: 4") + b"body",),
    "a page that is to be another protocol": (get(b"Upgrade: h2c", b"Connection: Upgrade"),),
    "a page of old": (get(line=b"GET /page HTTP/1.0"),),
    "a page by a query": (get(line=b"GET /page?x=1 HTTP/1.1"),),
    "only the head of a page": (get(line=b"HEAD /page HTTP/1.1"),),
    "a page with a long head": (get(b"X-A: " + b"a" * 3000),),
}


KINDS = ("direct", "at once", "plain")


@pytest.mark.parametrize("name", REQUESTS)
def test_all_endpoints_return_the_same_bytes(served: Served, name: str) -> None:
    direct, at_once, plain = (exchange(served, kind, *REQUESTS[name]) for kind in KINDS)

    assert direct == plain
    assert at_once == plain
    assert direct.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    "name",
    ["plain", "twice on a connection", "a batch", "a notification", "no JSON", "keep-alive",
     "compressed", "a web page", "long", "a page"],
)  # fmt: skip
def test_plain_requests_from_memory_bypass_asgi(served: Served, name: str) -> None:
    before = served.asgi.copy()

    exchange(served, "direct", *REQUESTS[name])
    exchange(served, "at once", *REQUESTS[name])

    assert served.asgi == before


@pytest.mark.parametrize(
    "name",
    ["in a thread", "a notification in a thread", "a batch in a thread", "gathered",
     "long from a thread", "compressed from a thread"],
)  # fmt: skip
def test_slow_plain_requests_use_asgi_only_without_delayed_responses(
    served: Served, name: str
) -> None:
    before = served.asgi.copy()

    exchange(served, "direct", *REQUESTS[name])
    exchange(served, "at once", *REQUESTS[name])

    assert served.asgi["direct"] == before["direct"]
    assert served.asgi["at once"] > before["at once"]


@pytest.mark.parametrize("body", [CALL, THREAD, TOGETHER])
def test_body_shortly_after_its_head_bypasses_asgi(
    served: Served, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(fast_path, "BODY_SECONDS", SECONDS)
    before = served.asgi["direct"]
    pieces = [request(body)[: -len(body)], body] * 2

    assert exchange(served, "direct", *pieces) == exchange(served, "plain", *pieces)
    assert served.asgi["direct"] == before


@pytest.mark.parametrize("rest", [(b"",), (CALL[:10], CALL[10:])], ids=["late", "in pieces"])
def test_late_or_partial_body_is_left_to_uvicorn(
    served: Served, monkeypatch: pytest.MonkeyPatch, rest: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(fast_path, "BODY_SECONDS", SECONDS if rest[0] else 0.0)
    before = served.asgi["direct"]
    with socket.create_connection(("127.0.0.1", served.ports["direct"]), SECONDS) as connection:
        connection.sendall(request()[: -len(CALL)])
        if rest[0]:
            connection.sendall(rest[0])
        until(lambda: served.asgi["direct"] == before + 1)
        connection.sendall(rest[-1] or CALL)
        received = b""
        while not received.endswith(b"}"):
            received += connection.recv(65_536)
    assert b'"result":"0x10"' in received


def test_client_that_disconnects_after_a_head_leaves_no_state(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_path, "BODY_SECONDS", SECONDS)
    before, met = served.asgi["direct"], served.protocols["direct"].met
    known = len(met)
    with socket.create_connection(("127.0.0.1", served.ports["direct"]), SECONDS) as connection:
        connection.sendall(request()[: -len(CALL)])
        until(lambda: len(met) > known and met[known].taken > 0)
        protocol: Any = met[known]
        assert not protocol.is_idle()
    until(protocol.transport.is_closing)
    assert (protocol._head_alone, protocol._body_timer) == (b"", None)
    assert served.asgi["direct"] == before


def test_stopping_server_waits_for_the_body(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_path, "BODY_SECONDS", SECONDS)
    met = served.protocols["direct"].met
    known = len(met)
    with socket.create_connection(("127.0.0.1", served.ports["direct"]), SECONDS) as connection:
        connection.sendall(request()[: -len(CALL)])
        until(lambda: len(met) > known and met[known].taken > 0)
        protocol: Any = met[known]
        protocol.loop.call_soon_threadsafe(protocol.shutdown)
        until(lambda: not protocol._head_alone)
        connection.sendall(CALL)
        received = b""
        while part := connection.recv(65_536):
            received += part
    assert received.endswith(b'"result":"0x10"}')


@pytest.mark.parametrize("name", KINDS)
def test_long_responses_are_compressed_in_a_thread(
    served: Served, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    threads = []
    compress = replies._compressed

    def noting(reply: HttpReply) -> HttpReply:
        threads.append(threading.current_thread().name)
        return compress(reply)

    monkeypatch.setattr(replies, "_compressed", noting)
    exchange(served, name, *REQUESTS["long and compressed"])

    assert [thread.startswith("jsonrpc") for thread in threads] == [True]


def test_handler_gets_the_client_address(served: Served) -> None:
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


def test_requests_of_the_direct_endpoint_are_counted_once(served: Served) -> None:
    before = served.replies.read().get(("POST", 200), 0)

    exchange(served, "direct", request(), request(THREAD))

    assert served.replies.read()["POST", 200] == before + 2


def test_body_is_parsed_once_through_all_endpoints(
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


def test_idle_connection_is_kept_alive(served: Served) -> None:
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


def test_rate_limited_path_is_left_to_the_raw_endpoint() -> None:
    dispatcher = Dispatcher(MethodRegistry())
    limited = Endpoint(["/rpc"], dispatcher, throttle=LocalThrottle(Rate(1, 1)))
    head = request().partition(b"\r\n\r\n")[0]

    assert RequestHeads(by_path([limited])).read(head) is None
    assert RequestHeads(by_path([Endpoint(["/rpc"], dispatcher)])).read(head) is not None


def test_request_that_fails_on_the_fast_path_is_answered_by_asgi(
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
    assert "the fast path failed" in caplog.text
    assert original(Dispatcher(MethodRegistry()), THREAD) is not MISS


@pytest.mark.parametrize("name", KINDS)
def test_slow_request_is_tried_on_the_event_loop_once(
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


def test_batches_run_in_threads_while_connections_arrive() -> None:
    clock = Clock()
    ran_in: list[str] = []

    def take_time() -> str:
        clock.now += 0.001
        ran_in.append(threading.current_thread().name.partition("_")[0])
        return "0x1"

    registry = MethodRegistry()
    registry.add("number", take_time, hot=True)
    turn = LoopTurn(60.0, clock=clock)
    endpoint = Endpoint(["/rpc"], Dispatcher(registry, clock=clock, turn=turn))
    workers = Workers(1)
    app = AsgiRpc(by_path([endpoint]), elsewhere, Answering(workers))
    batch = request(b"[%b]" % b",".join([CALL] * 3))
    with three_servers(app, endpoint.replies, RequestHeads(by_path([endpoint]))) as made:
        exchange(made, "direct", batch)
        assert "jsonrpc" not in ran_in
        made.protocols["direct"].turn = turn  # type: ignore[attr-defined]
        exchange(made, "direct", batch)
        assert "jsonrpc" not in ran_in
        assert exchange(made, "direct", batch).count(b"0x1") == 3
    assert ran_in[-3:] == ["jsonrpc"] * 3
    workers.close()
