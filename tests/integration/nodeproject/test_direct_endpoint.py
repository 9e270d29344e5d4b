"""All APIs and pages of a node: the direct endpoint returns the same bytes as ASGI and Django."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from math import inf
from typing import Any

import pytest
from django.test import Client

from chaindb.database import Database
from chaindb.events import ChainEvents
from health_app import services
from health_app.reporter import Reporter
from health_app.writing import Writes
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.replies import by_path
from nodeproject.apps import this_node
from nodeproject.web.get_pages import GetPagesMiddleware
from platform_app import notifications
from platform_app.api import presence
from platform_app.api.answers import PlatformListener
from platform_app.apps import platform_chain
from platform_app.memory import answers
from tests.builders import health_checks as checks
from tests.builders.process import restart_node
from tests.integration.jsonrpc.three_servers import Served, exchange, request, three_servers
from tests.integration.platform_app.conftest import PChain
from tests.unit.jsonrpc.test_endpoints import elsewhere

pytestmark = pytest.mark.sqlite_only

ADDRESS = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
CALLS = [
    ("/ext/P", "platform.getHeight", {}),
    ("/ext/bc/P", "platform.getCurrentValidators", {}),
    ("/ext/bc/P", "platform.getBalance", {"address": ADDRESS}),
    ("/ext/platform", "platform.getUTXOs", {"addresses": [ADDRESS]}),
    ("/ext/P", "platform.getMinStake", {}),
    ("/ext/P", "platform.nope", {}),
    ("/ext/info", "info.getNodeID", {}),
    ("/ext/info", "info.getNodeVersion", {}),
    ("/ext/info", "info.getBlockchainID", {"alias": "C"}),
    ("/ext/health", "health.health", {}),
    ("/ext/health", "health.readiness", {"tags": ["x"]}),
    ("/ext/bc/X", "avm.getTxFee", {}),
    ("/ext/keystore", "keystore.nope", {}),
]
PAGES = [
    "/ext/health", "/ext/health/", "/ext/health/health", "/ext/health/readiness",
    "/ext/health/liveness",
]  # fmt: skip
UNUSUAL = {
    "a query": b"GET /ext/health?tag=x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "only a head": b"HEAD /ext/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another host": b"GET /ext/health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "no such page": b"GET /ext/health/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an interface without pages": b"GET /ext/info HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another method": b"PUT /ext/health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a page that waits": b"GET /ext/openrpc.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another type": b"POST /ext/P HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.fixture
def served(shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The served node, with each health check run once; no response expires."""
    monkeypatch.setattr(answers, "MAX_AGE", inf)
    monkeypatch.setattr(answers, "POLL_SECONDS", inf)
    monkeypatch.setattr(presence, "SECONDS", inf)
    restart_node()
    reporter = Reporter(
        checks.table(lambda: (0, 0.0), Writes()),
        changed=partial(services.record, Database()),
        interval=60.0,
    )
    node = this_node()
    monkeypatch.setattr(node.observation, "reporter", reporter)
    reporter.run_once()
    endpoints = by_path(node.endpoints.all())
    app = GetPagesMiddleware(
        node.plain.front,
        AsgiRpc(endpoints, elsewhere, Answering(node.endpoints.workers)),
        node.plain.workers,
    )
    with three_servers(app, Replies(), RequestHeads(endpoints), node.plain.at_once) as made:
        yield made
    node.endpoints.workers.close()
    node.plain.workers.close()


def get(path: str, *headers: bytes) -> bytes:
    line = b"GET %b HTTP/1.1" % path.encode()
    return b"\r\n".join((line, b"Host: localhost", *headers, b"", b""))


def assert_as_through_django(
    answer: bytes, path: str, content: bytes | None = None, **headers: str
) -> None:
    """Compare a server's response with Django's, which has additional headers."""
    client = Client(headers={"host": "localhost", **headers})
    if content is None:
        response = client.get(path)
    else:
        response = client.generic("POST", path, content, "application/json")
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    named = dict(line.split(": ", 1) for line in lines)
    assert named.pop("server") == "uvicorn"
    through_django = {name.lower(): value for name, value in response.headers.items()}
    assert (int(status.split()[1]), body) == (response.status_code, response.content)
    assert named.items() <= through_django.items()


@pytest.mark.parametrize(("path", "method", "params"), CALLS)
def test_call_has_the_same_response_at_all_endpoints(
    served: Served, path: str, method: str, params: dict[str, Any]
) -> None:
    content = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    asked = request(content, line=b"POST %b HTTP/1.1" % path.encode())
    origin = b"Origin: https://wallet.example"
    from_page = request(content, origin, line=b"POST %b HTTP/1.1" % path.encode())
    plain, again = (exchange(served, "plain", asked) for _ in range(2))  # cached from then on
    of_page = exchange(served, "plain", from_page)
    before = served.asgi["direct"]

    direct, direct_of_page = (exchange(served, "direct", value) for value in (asked, from_page))

    assert served.asgi["direct"] == before
    assert plain == again == direct
    assert direct_of_page == of_page
    assert_as_through_django(direct, path, content)
    assert_as_through_django(of_page, path, content, origin="https://wallet.example")


@pytest.mark.parametrize("path", PAGES)
def test_page_has_the_same_response_at_all_endpoints(served: Served, path: str) -> None:
    asked, origin = get(path), get(path, b"Origin: https://wallet.example")
    plain = [exchange(served, "plain", item) for item in (asked, origin, asked + asked)]
    before = served.asgi["direct"]

    direct = [exchange(served, "direct", value) for value in (asked, origin)]

    assert served.asgi["direct"] == before
    assert direct == plain[:2]
    assert exchange(served, "direct", asked + asked) == plain[2]
    assert_as_through_django(direct[0], path)


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_requests_are_left_to_the_regular_path(served: Served, name: str) -> None:
    before = served.asgi["direct"]
    direct = exchange(served, "direct", UNUSUAL[name])

    assert served.asgi["direct"] == before + 1
    assert direct == exchange(served, "plain", UNUSUAL[name])


def test_pages_of_the_direct_endpoint_are_counted(served: Served) -> None:
    counted = this_node().observation.metrics.replies_of("health/liveness")
    before = counted.read().get(("GET", 200), 0)
    exchange(served, "direct", get("/ext/health/liveness"))
    exchange(served, "plain", get("/ext/health/liveness"))
    assert counted.read()["GET", 200] == before + 2


def test_page_that_fails_on_the_fast_path_is_left_to_asgi(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Reporter, "version", lambda _: 1 / 0)
    answer = exchange(served, "direct", get("/ext/health"))
    assert re.match(rb"HTTP/1.1 500 .*the page cannot be shown\n$", answer, re.DOTALL)
    assert caplog.text.count("the page /ext/health failed") == 2


def test_a_report_changes_with_each_run_of_a_check(served: Served) -> None:
    before = exchange(served, "direct", get("/ext/health"))
    assert exchange(served, "direct", get("/ext/health")) == before
    this_node().observation.reporter.run_once()
    after = exchange(served, "direct", get("/ext/health"))
    assert after != before
    assert after == exchange(served, "plain", get("/ext/health"))


async def test_an_announced_block_invalidates_earlier_answers() -> None:
    chain = platform_chain()
    chain.events = ChainEvents("embedded")  # the server between processes is tested elsewhere
    place = answers.ChainPosition(b"genesis", b"block 1", 0, 0)
    chain.answers._read = lambda: place
    listener = PlatformListener(chain)
    listener.start()
    listener.start()
    try:
        chain.answers.check_rows()
        for block_id, is_known in ((b"block 1", True), (b"block 2", False)):
            message = {"type": notifications.HEAD, "height": 1, "block_id": block_id}
            chain.events.send(chain.aliases[0], message)
            await _turn()
            assert chain.answers.is_trusted() is is_known
    finally:
        listener.stop()
    chain.answers.check_rows()
    chain.events.send(chain.aliases[0], message)
    await _turn()
    assert chain.answers.is_trusted()


async def _turn() -> None:
    """Let the event loop run the callbacks scheduled so far."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon_threadsafe(done.set)
    await done.wait()


async def test_event_loop_pauses_while_either_chain_builds_a_block(
    shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = this_node()
    node.serve_all()
    chains = (node.evm_chain, node.platform_chain)
    pauses: list[float] = []
    monkeypatch.setattr(node.endpoints.interpreter, "_sleep", pauses.append)
    monkeypatch.setattr(node.endpoints.interpreter, "_clock", lambda: 1.0)
    for number, chain in enumerate(chains):
        for making, made in ((nullcontext(), number), (chain.building.count(1), number + 1)):
            with making:
                monkeypatch.setattr(node.endpoints.interpreter, "_next_pause", 0.0)
                node.endpoints.interpreter.give_way(asyncio.get_running_loop())
                await asyncio.sleep(0)
            assert len(pauses) == made
