"""Every HTTP response is counted once, whatever clients send."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import RequestFactory

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import Gate, GateConfig
from jsonrpc.dispatch.inflight import OTHER, Replies
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import Endpoint, by_path, respond
from jsonrpc.limits.throttle import LocalThrottle, Rate
from tests.unit.jsonrpc.test_endpoints import JSON, NUMBER, SLEEP, ask, elsewhere


class Scene:
    """An endpoint with one interface that accepts three calls, and its counts."""

    def __init__(self, registry: Any, workers: Workers, clock: Any) -> None:
        self.endpoint = Endpoint(
            ("/rpc",),
            Dispatcher(registry, limits=DispatchLimits()),
            GateConfig(max_body=1000),
            LocalThrottle(Rate(1, 3), clock),
        )
        self.others = Replies()
        self.app = AsgiRpc(
            by_path([self.endpoint]),
            elsewhere,
            Answering(workers),
            gate=Gate(GateConfig(), GETH),
            replies=self.others,
            body_seconds=0.05,
        )


@pytest.fixture
def scene(registry: Any, clock: Any) -> Iterator[Scene]:
    workers = Workers(threads=1, queue=0)
    yield Scene(registry, workers, clock)
    workers.close()


async def test_replies_count_by_method_and_status(scene: Scene) -> None:
    await ask(scene.app, parts=(NUMBER,))
    await ask(scene.app, parts=(b"no JSON",))
    await ask(scene.app, "GET")
    await ask(scene.app, "BREW")
    await ask(scene.app, headers={**JSON, "host": "node.lan"}, parts=(NUMBER,))
    await ask(scene.app, headers={**JSON, "content-type": "text/plain"}, parts=(NUMBER,))
    await ask(scene.app, parts=(b" " * 2000,))
    await ask(scene.app, parts=(5.0, NUMBER))
    await ask(scene.app, parts=(b"[%b,%b]" % (NUMBER, NUMBER),))
    await ask(scene.app, parts=())  # the client disconnected, so there was no response

    assert scene.endpoint.replies.read() == {
        ("POST", 200): 2, ("GET", 200): 1, (OTHER, 405): 1, ("POST", 403): 1, ("POST", 415): 1,
        ("POST", 413): 1, ("POST", 408): 1, ("POST", 429): 1,
    }  # fmt: skip


async def test_an_overload_is_counted(scene: Scene) -> None:
    answers = await asyncio.gather(*[ask(scene.app, parts=(SLEEP,)) for _ in range(3)])
    statuses = [answer.status for answer in answers]
    assert 503 in statuses
    assert scene.endpoint.replies.read() == {
        ("POST", status): statuses.count(status) for status in set(statuses)
    }


async def test_refusals_on_foreign_paths_are_counted(
    scene: Scene,
) -> None:
    await ask(scene.app, "GET", "/admin/", {"host": "node.lan"})
    await ask(scene.app, "GET", "/admin/", {"host": "localhost"})

    assert scene.others.read() == {("GET", 403): 1}


async def test_failed_load_is_503_and_refused_client_loads_nothing(
    scene: Scene,
) -> None:
    asked = []

    async def load() -> None:
        asked.append(1)
        raise OSError("no descriptors")

    scene.app._load_others = load
    refused = await ask(scene.app, "GET", "/admin/", {"host": "node.lan"})
    called = await ask(scene.app, parts=(NUMBER,))
    assert (refused.status, called.status, asked) == (403, 200, [])

    away = await ask(scene.app, "GET", "/admin/", {"host": "localhost"})

    assert (away.status, asked) == (503, [1])
    assert away.headers["retry-after"] == "1"
    assert scene.others.read() == {("GET", 403): 1, ("GET", 503): 1}


def test_django_endpoint_counts_replies(scene: Scene) -> None:
    requests = RequestFactory(headers={"host": "localhost"})
    for body, kind in ((NUMBER, "application/json"), (NUMBER, "text/plain"), (b" " * 2000, "")):
        request: Any = requests.post("/rpc", body, content_type=kind or "application/json")
        respond(request, scene.endpoint)

    assert scene.endpoint.replies.read() == {
        ("POST", 200): 1, ("POST", 415): 1, ("POST", 413): 1,
    }  # fmt: skip


def test_reply_counts_restart_after_fork() -> None:
    replies = Replies()
    replies.count("GET", 200)
    replies.answered()
    replies.reset()
    assert replies.read() == {}
    replies.answered()
    replies.count("GET", 200)
    replies.count("GET", 404)
    assert replies.read() == {("GET", 200): 1, ("GET", 404): 1, ("POST", 200): 1}
