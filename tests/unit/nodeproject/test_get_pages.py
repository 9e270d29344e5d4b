"""Plain pages in front of all other applications: allowed clients, and answers to unknown paths."""

import asyncio
import threading
from http import HTTPStatus
from typing import Any

import pytest

from jsonrpc.dispatch.gate import Gate, GateConfig
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.dispatch.workers import Workers
from jsonrpc.limits.client_address import TrustedProxies
from nodeproject.apps import this_node
from nodeproject.web.get_pages import Front, GetPage, GetPagesMiddleware, PageContent, Query
from nodeproject.web.paths import BasePaths
from tests.unit.jsonrpc.test_endpoints import Answer, ask, elsewhere

CONFIG = GateConfig(node_id="NodeID-x")
OTHERS = ("/ext/rpc", "/ext/rpc/", "/ext/both", "/ext/both/", "/ext/docs")
PAGES = ("/ext/page", "/ext/both")


def echo(query: Query, _base: str) -> PageContent:
    """Return the requested tags; for the tag `bad`, with an unhealthy status."""
    tags = query.get("tag", [])
    status = HTTPStatus.SERVICE_UNAVAILABLE if "bad" in tags else HTTPStatus.OK
    return PageContent(status, "application/json", repr(tags).encode())


class Scene:
    """A plain-page endpoint in front of another application."""

    def __init__(self, **pages: GetPage) -> None:
        self.workers = Workers(threads=1, queue=0)
        known = dict.fromkeys(PAGES, GetPage(echo)) | {
            f"/ext/{name}": one for name, one in pages.items()
        }
        front = Front(known, Gate(CONFIG, GORILLA), OTHERS)
        base_paths = BasePaths("", TrustedProxies.of("127.0.0.1"))
        self.app = GetPagesMiddleware(front, elsewhere, self.workers, base_paths)

    async def get(self, path: str, method: str = "GET", **options: Any) -> Answer:
        return await ask(
            self.app, method, path, {"host": "localhost"} | options.pop("headers", {}), **options
        )


@pytest.fixture
def scene() -> Any:
    made = Scene()
    yield made
    made.workers.close()


@pytest.mark.parametrize("path", ["/ext/page", "/ext/page/", "/ext/both"])
async def test_a_page(scene: Scene, path: str) -> None:
    answer = await scene.get(path, query="tag=a&x=1&tag=b")

    assert (answer.status, answer.body) == (200, b"['a', 'b']")
    assert answer.headers == {
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
        "node-id": "NodeID-x",
        "content-length": "10",
    }


async def test_a_page_has_its_own_status(scene: Scene) -> None:
    assert (await scene.get("/ext/page", query="tag=bad")).status == 503


@pytest.mark.parametrize(
    ("query", "tags"),
    [("tag", [""]), ("tag=", [""]), ("tag=%C3%A9%ff", ["é\ufffd"]), ("&&=&tag=%", ["%"]), ("", [])],
)
async def test_any_query_is_read(scene: Scene, query: str, tags: list[str]) -> None:
    assert (await scene.get("/ext/page", query=query)).body == repr(tags).encode()


async def test_a_head_is_a_page_without_its_body(scene: Scene) -> None:
    answer = await scene.get("/ext/page", "HEAD", query="tag=bad")

    assert (answer.status, answer.body, answer.headers["content-length"]) == (503, b"", "7")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_a_path_that_is_an_interface_too_is_a_page_for_get_only(
    scene: Scene, method: str
) -> None:
    assert (await scene.get("/ext/both", method)).body == b"elsewhere"


async def test_other_http_methods_get_405_with_allow(scene: Scene) -> None:
    answer = await scene.get("/ext/page", "POST", parts=(b"{}",))

    assert (answer.status, answer.body) == (405, b"GET, HEAD, OPTIONS only, received POST\n")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


async def test_browsers_of_other_pages_may_read_it(scene: Scene) -> None:
    origin = {"origin": "https://wallet.example"}
    answer = await scene.get("/ext/page", headers=origin)
    assert answer.headers["access-control-allow-origin"] == "*"

    preflight = await scene.get("/ext/page", "OPTIONS", headers=origin)
    assert preflight.status == 204
    assert "GET" in preflight.headers["access-control-allow-methods"]


async def test_browsers_may_ask_before_any_path(scene: Scene) -> None:
    asked = {"origin": "https://wallet.example", "access-control-request-method": "POST"}
    assert (await scene.get("/ext/nothing", "OPTIONS", headers=asked)).status == 204
    assert (await scene.get("/ext/nothing", "OPTIONS")).status == 404


@pytest.mark.parametrize("path", ["/ext/page", "/ext/nothing"])
async def test_another_hosts_name_is_refused(scene: Scene, path: str) -> None:
    answer = await scene.get(path, headers={"host": "evil.example"})
    assert (answer.status, answer.body) == (403, b"invalid host specified\n")


@pytest.mark.parametrize("path", ["/ext", "/ext/", "/ext/nothing", "/ext/page/more", "/ext//page"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_unknown_path_is_not_found(scene: Scene, path: str, method: str) -> None:
    answer = await scene.get(path, method)

    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["node-id"] == "NodeID-x"


@pytest.mark.parametrize(
    "path", ["/ext/rpc", "/ext/rpc/", "/ext/docs", "/", "/admin/", "/extra", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_foreign_path_is_passed_on(scene: Scene, path: str, method: str) -> None:
    assert (await scene.get(path, method)).body == b"elsewhere"


async def test_other_scopes_are_handed_on(scene: Scene) -> None:
    seen = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    scene.app._behind = behind
    await scene.app({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    await scene.app({"type": "websocket", "path": "/ext/page"}, None, None)  # type: ignore[arg-type]
    assert seen == ["lifespan", "websocket"]


async def test_a_failing_page_shows_no_internal_details(caplog: pytest.LogCaptureFixture) -> None:
    def broken(query: Query, _base: str) -> PageContent:
        raise ZeroDivisionError("an inside")

    scene = Scene(broken=GetPage(broken))
    answer = await scene.get("/ext/broken")
    scene.workers.close()

    assert (answer.status, answer.body) == (500, b"the page cannot be shown\n")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("waits", [False, True])
async def test_a_page_is_made_for_the_base_path_of_its_request(*, waits: bool) -> None:
    def base_of(_query: Query, base: str) -> PageContent:
        return PageContent(HTTPStatus.OK, "text/plain", base.encode())

    scene = Scene(based=GetPage(base_of, waits=waits))
    forwarded = {"x-forwarded-prefix": "/node"}

    assert (await scene.get("/ext/based", headers=forwarded)).body == b"/node"
    assert (await scene.get("/ext/based")).body == b""
    scene.workers.close()


def test_pages_do_not_wait_behind_calls() -> None:
    assert this_node().plain.workers is this_node().plain.workers
    assert this_node().plain.workers is not this_node().endpoints.workers


async def test_a_page_that_waits_is_made_in_a_thread() -> None:
    here = threading.get_ident()
    begun, end = threading.Event(), threading.Event()

    def slow(query: Query, _base: str) -> PageContent:
        begun.set()
        end.wait(60)
        return PageContent(HTTPStatus.OK, "text/plain", str(threading.get_ident() != here).encode())

    scene = Scene(slow=GetPage(slow, waits=True))
    first = asyncio.create_task(scene.get("/ext/slow"))
    assert await asyncio.to_thread(begun.wait, 60)
    second = await scene.get("/ext/slow")
    end.set()

    assert (second.status, second.headers["retry-after"]) == (503, "1")
    assert ((await first).status, (await first).body) == (200, b"True")
    scene.workers.close()


async def test_pages_are_counted_by_path_and_unknown_paths_together() -> None:
    counted: dict[str, Replies] = {}
    known = dict.fromkeys(PAGES, GetPage(echo))
    front = Front(
        known, Gate(CONFIG, GORILLA), OTHERS, lambda name: counted.setdefault(name, Replies())
    )
    workers = Workers(threads=1)
    app = GetPagesMiddleware(front, elsewhere, workers)
    local = {"host": "localhost"}
    for path in ("/ext/page", "/ext/page/", "/ext/both", "/ext/nothing", "/ext/rpc", "/other"):
        await ask(app, "GET", path, local)
    await ask(app, "HEAD", "/ext/page", local, query="tag=bad")
    await ask(app, "POST", "/ext/page", local)
    await ask(app, "GET", "/ext/page", {"host": "node.lan"})
    workers.close()

    assert {name: replies.read() for name, replies in counted.items()} == {
        "page": {("GET", 200): 2, ("HEAD", 503): 1, ("POST", 405): 1, ("GET", 403): 1},
        "both": {("GET", 200): 1},
        "other": {("GET", 404): 1},
    }
