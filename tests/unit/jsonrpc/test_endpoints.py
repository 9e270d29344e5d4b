"""The raw ASGI endpoint, and the Django view, which must answer with the same bytes."""

import asyncio
import gzip
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import RequestFactory

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import Gate, GateConfig, RequestHead
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import Endpoint, by_path, respond
from jsonrpc.limits.client_address import TrustedProxies
from jsonrpc.limits.throttle import LocalThrottle, Rate

NUMBER = b'{"jsonrpc":"2.0","id":1,"method":"number"}'
ECHO = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[%b]}'
SLEEP = b'{"jsonrpc":"2.0","id":1,"method":"sleep","params":[0.3]}'
JSON = {"content-type": "application/json", "host": "localhost"}


class Answer:
    """The response of an ASGI application."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""


async def ask(
    app: Callable[..., Any],
    method: str = "POST",
    path: str = "/rpc",
    headers: dict[str, str] | None = None,
    *,
    parts: tuple[object, ...] = (b"",),
    query: str = "",
    client: str = "127.0.0.1",
    lines: list[tuple[bytes, bytes]] | None = None,
) -> Answer:
    """Send one request; a part is bytes, or a pause in seconds."""
    raw = [(k.encode(), v.encode()) for k, v in (JSON if headers is None else headers).items()]
    raw = raw if lines is None else lines
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": raw,
        "client": (client, 1),
    }
    waiting = list(parts)
    answer = Answer()

    async def receive() -> dict[str, object]:
        while waiting and isinstance(waiting[0], float):
            await asyncio.sleep(waiting.pop(0))
        if not waiting:
            return {"type": "http.disconnect"}
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer


class Shared:
    """A throttle that cannot decide immediately and then rejects."""

    def take_now(self, key: str, cost: float) -> None:
        return None

    async def take(self, key: str, cost: float) -> float:
        return 2.5


async def elsewhere(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"elsewhere"})


@pytest.fixture
def workers():
    workers = Workers(threads=2, queue=1)
    yield workers
    workers.close()


@pytest.fixture
def hang(registry) -> Iterator[bytes]:
    """A call that is not answered before the end of the test."""
    end = threading.Event()
    registry.add("hang", lambda: end.wait(60))
    yield b'{"jsonrpc":"2.0","id":1,"method":"hang"}'
    end.set()


@pytest.fixture
def make_app(registry, workers) -> Callable[..., AsgiRpc]:
    def make(
        limits: DispatchLimits | None = None, seconds: float = 30.0, **options: Any
    ) -> AsgiRpc:
        config = options.pop("config", GateConfig(max_body=1000))
        dispatcher = Dispatcher(registry, limits=limits or DispatchLimits())
        endpoint = Endpoint(("/rpc",), dispatcher, config, **options)
        return AsgiRpc(by_path([endpoint]), elsewhere, Answering(workers), body_seconds=seconds)

    return make


async def test_hot_and_cold_calls_are_answered(make_app) -> None:
    for text in (NUMBER, ECHO % b'"0x10"'):
        answer = await ask(make_app(), parts=(text,))
        assert answer.status == 200
        assert answer.body == b'{"jsonrpc":"2.0","id":1,"result":"0x10"}'
        assert answer.headers == {"content-type": "application/json", "content-length": "40"}


async def test_paths_are_exact_but_for_a_slash_at_the_end(make_app) -> None:
    assert (await ask(make_app(), path="/rpc/", parts=(NUMBER,))).status == 200
    for path in ("/", "/rpc//", "/rpcs", "/RPC", ""):
        assert (await ask(make_app(), path=path, parts=(NUMBER,))).body == b"elsewhere"


async def test_other_scopes_are_handed_on(make_app) -> None:
    seen = []

    async def fallback(scope, receive, send) -> None:
        seen.append(scope["type"])

    app = AsgiRpc({}, fallback, Answering(Workers()))
    await app({"type": "lifespan"}, None, None)
    await app({"type": "websocket", "path": "/rpc"}, None, None)
    assert seen == ["lifespan", "websocket"]


async def test_notifications_only_get_an_empty_body(make_app) -> None:
    answer = await ask(make_app(), parts=(NUMBER.replace(b'"id":1,', b""),))
    assert (answer.status, answer.body) == (200, b"")


async def test_body_in_parts_is_accepted(make_app) -> None:
    answer = await ask(make_app(), parts=(NUMBER[:5], 0.01, NUMBER[5:20], NUMBER[20:]))
    assert answer.body.endswith(b'"result":"0x10"}')


async def test_a_body_over_the_limit_is_not_read_to_its_end(make_app) -> None:
    parts = (b" " * 600, b" " * 600, b"never read")
    answer = await ask(make_app(), parts=parts)
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    answer = await ask(make_app(), parts=(b" " * 1001,))
    assert answer.status == 413
    assert (await ask(make_app(), parts=(b" " * 958 + NUMBER,))).status == 200


async def test_late_body_times_out(make_app) -> None:
    answer = await ask(make_app(seconds=0.05), parts=(NUMBER[:9], 5.0, NUMBER[9:]))
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    answer = await ask(make_app(seconds=0.05), parts=(5.0, NUMBER))
    assert answer.status == 408


async def test_disconnected_client_gets_no_answer(make_app) -> None:
    for parts in ((), (0.01,)):
        assert (await ask(make_app(), parts=parts)).status == 0


async def test_too_many_waiting_calls_get_a_503(make_app) -> None:
    app = make_app()
    answers = await asyncio.gather(*[ask(app, parts=(SLEEP,)) for _ in range(5)])
    assert sorted(answer.status for answer in answers) == [200, 200, 200, 503, 503]
    busy = next(answer for answer in answers if answer.status == 503)
    error = b'{"code":-32005,"message":"server is busy"}'
    assert busy.body == b'{"jsonrpc":"2.0","id":1,"error":%b}' % error
    assert busy.headers["retry-after"] == "1"
    assert (await ask(app, parts=(NUMBER,))).status == 200


async def test_overlong_call_times_out(make_app, hang: bytes, monkeypatch) -> None:
    monkeypatch.setattr("jsonrpc.http.answering.GRACE_SECONDS", 0.0)
    answer = await ask(make_app(DispatchLimits(seconds=0.05)), parts=(hang,))
    assert answer.status == 200
    assert b'"code":-32002' in answer.body


async def test_a_long_body_that_is_given_up_is_not_read_on_the_loop(
    make_app, hang: bytes, monkeypatch
) -> None:
    read_in = []
    original = Dispatcher.give_up

    def give_up(self: Dispatcher, body: bytes) -> bytes | None:
        read_in.append(threading.current_thread())
        return original(self, body)

    monkeypatch.setattr(Dispatcher, "give_up", give_up)
    monkeypatch.setattr("jsonrpc.http.answering.GRACE_SECONDS", 0.0)
    answer = await ask(make_app(DispatchLimits(seconds=0.05, hot_body=10)), parts=(hang,))
    assert (answer.status, b'"code":-32002' in answer.body) == (200, True)
    assert read_in
    assert threading.current_thread() not in read_in


async def test_internal_error_hides_its_details(make_app, monkeypatch, caplog) -> None:
    def fail(*_args: object) -> None:
        raise ZeroDivisionError("an inside")

    monkeypatch.setattr(Dispatcher, "answer_hot", fail)
    answer = await ask(make_app(), parts=(NUMBER,))
    assert (answer.status, b"-32603" in answer.body, b"inside" in answer.body) == (200, True, False)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("method", [b"whose", b"whose_in_thread"])
async def test_handler_gets_the_client_address(make_app, registry, method) -> None:
    config = GateConfig(proxies=TrustedProxies.of("192.0.2.1"))
    for client, forwarded, key in (
        ("198.51.100.7", {}, "198.51.100.7"),
        ("198.51.100.7", {"x-forwarded-for": "203.0.113.9"}, "198.51.100.7"),
        ("192.0.2.1", {"x-forwarded-for": "203.0.113.9"}, "203.0.113.9"),
        ("2001:db8::1", {}, "2001:db8::/64"),
    ):
        call = NUMBER.replace(b"number", method)
        app = make_app(config=config)
        answer = await ask(app, headers=JSON | forwarded, parts=(call,), client=client)
        assert answer.body == b'{"jsonrpc":"2.0","id":1,"result":"%b"}' % key.encode()
        meta = {
            f"HTTP_{name.replace('-', '_').upper()}": value for name, value in forwarded.items()
        }
        request = RequestFactory(REMOTE_ADDR=client).generic(
            "POST", "/rpc", call, "application/json", **meta
        )
        endpoint = Endpoint(("/rpc",), Dispatcher(registry), config)
        assert respond(request, endpoint).content == answer.body


async def test_over_http_nothing_can_be_subscribed(make_app) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["heads"]}'
    answer = await ask(make_app(), parts=(call,))
    assert b'"notifications not supported"' in answer.body


async def test_a_client_over_its_rate_gets_429_with_its_id(make_app, clock) -> None:
    app = make_app(throttle=LocalThrottle(Rate(1, 3), clock))
    batch = b"[%b,%b]" % (NUMBER, NUMBER)
    assert (await ask(app, parts=(batch,))).status == 200
    refused = await ask(app, parts=(batch,))
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    error = b'{"code":-32005,"message":"rate limit exceeded"}'
    assert refused.body == b'{"jsonrpc":"2.0","id":null,"error":%b}' % error
    assert (await ask(app, parts=(NUMBER,))).status == 200
    refused = await ask(app, parts=(NUMBER.replace(b'"id":1', b'"id":"x7"'),))
    assert refused.body == b'{"jsonrpc":"2.0","id":"x7","error":%b}' % error
    assert (await ask(app, parts=(NUMBER,), client="10.0.0.9")).status == 200
    clock.now += 1
    assert (await ask(app, parts=(NUMBER,))).status == 200


async def test_a_long_batch_is_counted_by_its_calls_too(make_app, clock) -> None:
    app = make_app(DispatchLimits(hot_body=100), throttle=LocalThrottle(Rate(1, 3), clock))
    batch = b"[%b]" % b",".join([NUMBER] * 3)
    assert (await ask(app, parts=(batch,))).status == 200
    assert (await ask(app, parts=(NUMBER,))).status == 429


async def test_a_shared_throttle_is_waited_for(make_app) -> None:
    answer = await ask(make_app(throttle=Shared()), parts=(NUMBER,))
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")


async def test_endpoint_without_throttle_admits_everyone(registry) -> None:
    endpoint = Endpoint(("/rpc",), Dispatcher(registry))
    head = RequestHead("POST", {}, False, "127.0.0.1")
    assert await endpoint.charge(head, 1000) == 0.0


async def test_long_answer_is_compressed_if_accepted(make_app) -> None:
    app = make_app(gzip_from=100)
    text = ECHO % (b'"%b"' % (b"0" * 500))
    plain = await ask(app, parts=(text,))
    assert "content-encoding" not in plain.headers
    for accepted in ("gzip", "br, gzip;q=0.5", "deflate, gzip"):
        packed = await ask(app, headers={**JSON, "accept-encoding": accepted}, parts=(text,))
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["content-length"] == str(len(packed.body))
        assert gzip.decompress(packed.body) == plain.body
    for refused in ("br", "gzip;q=0"):
        same = await ask(app, headers={**JSON, "accept-encoding": refused}, parts=(text,))
        assert same.body == plain.body
    short = await ask(app, headers={**JSON, "accept-encoding": "gzip"}, parts=(NUMBER,))
    assert "content-encoding" not in short.headers


async def test_every_path_answers_a_preflight_but_not_every_options(make_app) -> None:
    app = AsgiRpc({}, elsewhere, Answering(Workers()), gate=Gate(GateConfig(), GETH))
    asked = {"origin": "https://a.example", "access-control-request-method": "POST"}
    answer = await ask(app, "OPTIONS", "/anywhere", asked)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (204, "*")
    assert "content-length" not in answer.headers
    assert (await ask(app, "OPTIONS", "/anywhere", {})).body == b"elsewhere"
    assert (await ask(app, "GET", "/anywhere", asked)).body == b"elsewhere"


async def test_no_path_answers_under_a_name_that_is_not_the_nodes() -> None:
    config = GateConfig(host_hint="HOSTS lists them")
    app = AsgiRpc({}, elsewhere, Answering(Workers()), gate=Gate(config, GETH))
    for host in ("localhost:9650", "192.168.7.7:9650", "[fd00::7]:9650"):
        assert (await ask(app, "GET", "/anywhere", {"host": host})).body == b"elsewhere"
    for method in ("GET", "POST", "OPTIONS"):
        answer = await ask(app, method, "/anywhere", {"host": "node.lan:9650"})
        assert (answer.status, answer.body) == (403, b"invalid host specified: HOSTS lists them\n")


async def test_request_with_two_host_headers_is_refused() -> None:
    app = AsgiRpc({}, elsewhere, Answering(Workers()), gate=Gate(GateConfig(), GETH))
    for hosts in ([b"evil.example", b"localhost"], [b"localhost", b"evil.example"]):
        answer = await ask(app, "GET", "/anywhere", lines=[(b"host", host) for host in hosts])
        assert answer.status == 403


async def test_workers_run_the_after_hook_in_the_jobs_thread() -> None:
    seen = []
    workers = Workers(threads=1, after=lambda: seen.append(threading.current_thread()))
    assert await workers.run(None, threading.current_thread) is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        await workers.run(1.0, lambda: 1 // 0)
    assert len(seen) == 2
    assert seen[0] is not threading.current_thread()
    assert workers.pending == 0
    workers.close()


async def test_late_job_result_is_dropped() -> None:
    workers = Workers(threads=1)
    release = threading.Event()
    with pytest.raises(TimeoutError):
        await workers.run(0.01, release.wait, 5)
    assert workers.pending == 1
    release.set()
    assert await workers.run(None, int) == 0
    assert workers.pending == 0
    workers.close()


REQUESTS = {
    "hot": ("POST", {}, NUMBER, ""),
    "cold": ("POST", {}, ECHO % b"[1,{}]", ""),
    "batch": ("POST", {}, b"[%b,5,%b]" % (NUMBER, ECHO % b"null"), ""),
    "notification": ("POST", {}, NUMBER.replace(b'"id":1,', b""), ""),
    "not json": ("POST", {}, b"nonsense", ""),
    "not utf-8": ("POST", {}, b"\xff", ""),
    "empty": ("POST", {}, b"", ""),
    "empty batch": ("POST", {}, b"[]", ""),
    "unknown method": ("POST", {}, NUMBER.replace(b"number", b"nope"), ""),
    "query": ("POST", {}, NUMBER, "a=1"),
    "origin": ("POST", {"origin": "https://a.example"}, NUMBER, ""),
    "charset": ("POST", {"content-type": "application/json; charset=utf-8"}, NUMBER, ""),
    "content type": ("POST", {"content-type": "text/plain"}, NUMBER, ""),
    "form": ("POST", {"content-type": "application/x-www-form-urlencoded"}, b"a=1", ""),
    "no content type": ("POST", {"content-type": ""}, NUMBER, ""),
    "host": ("POST", {"host": "evil.example"}, NUMBER, ""),
    "declared too large": ("POST", {"content-length": "5000"}, b" " * 5000, ""),
    "gzip": ("POST", {"accept-encoding": "gzip"}, ECHO % (b'"%b"' % (b"0" * 500)), ""),
    "probe": ("GET", {}, b"", ""),
    "get with query": ("GET", {}, b"", "a=1"),
    "put": ("PUT", {}, NUMBER, ""),
    "delete": ("DELETE", {}, b"", ""),
    "options": ("OPTIONS", {}, b"", ""),
    "preflight": (
        "OPTIONS",
        {"origin": "https://a.example", "access-control-request-method": "POST"},
        b"",
        "",
    ),
    "forwarded": ("POST", {"x-forwarded-for": "9.9.9.9"}, NUMBER, ""),
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("limited", [False, True], ids=["open", "limited"])
async def test_asgi_and_django_endpoints_answer_the_same(
    registry, workers, clock, name, limited
) -> None:
    method, extra, body, query = REQUESTS[name]
    config = GateConfig(max_body=1000, node_id="NodeID-1")
    endpoint = Endpoint(("/rpc",), Dispatcher(registry, clock=clock), config, gzip_from=100)
    if limited:
        endpoint.throttle = LocalThrottle(Rate(1, 1), clock)
        endpoint.throttle.take_now("127.0.0.1", 1)
    headers = {**JSON, **extra}
    raw = await ask(
        AsgiRpc(by_path([endpoint]), elsewhere, Answering(workers)),
        method,
        "/rpc",
        headers,
        parts=(body,),
        query=query,
    )
    meta = {f"HTTP_{key.upper().replace('-', '_')}": value for key, value in headers.items()}
    content_type = meta.pop("HTTP_CONTENT_TYPE")
    length = meta.pop("HTTP_CONTENT_LENGTH", None)
    path = f"/rpc?{query}" if query else "/rpc"
    request = RequestFactory().generic(method, path, body, content_type, **meta)
    request.META["CONTENT_TYPE"] = content_type
    if length:
        request.META["CONTENT_LENGTH"] = length
    response = respond(request, endpoint)
    assert (response.status_code, response.content) == (raw.status, raw.body)
    raw.headers.pop("content-length", None)
    assert {key.lower(): value for key, value in response.headers.items()} == raw.headers
    if limited and method == "POST" and raw.status < 400:
        pytest.fail("the limited client got through")


def test_django_endpoint_limits_body_without_content_length(registry) -> None:
    endpoint = Endpoint(("/rpc",), Dispatcher(registry), GateConfig(max_body=1000))
    request = RequestFactory().generic("POST", "/rpc", b" " * 1001, "application/json")
    request.META["CONTENT_LENGTH"] = ""
    assert respond(request, endpoint).status_code == 413


def test_django_endpoint_awaits_a_shared_throttle(registry) -> None:
    endpoint = Endpoint(("/rpc",), Dispatcher(registry), throttle=Shared())
    request = RequestFactory().generic("POST", "/rpc", NUMBER, "application/json")
    response = respond(request, endpoint)
    assert (response.status_code, response.headers["retry-after"]) == (429, "3")
