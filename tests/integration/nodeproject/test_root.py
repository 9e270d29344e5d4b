"""The C-Chain at `/`: the same bytes at all endpoints as under its other paths, and a page for GET."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.replies import by_path
from nodeproject.apps import this_node
from nodeproject.node import Node
from nodeproject.web.paths import SocketPaths
from nodeproject.web.rpc_paths import CCHAIN_WEBSOCKETS
from tests.builders.node_settings import updated
from tests.integration.conftest import Chain
from tests.integration.patience import PatientCommunicator
from tests.integration.platform_app.conftest import PChain
from tests.unit.jsonrpc.test_endpoints import JSON, Answer, ask

pytestmark = pytest.mark.sqlite_only

PATH = "/ext/bc/C/rpc"
CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
BODIES = [
    CHAIN_ID,
    b"[" + CHAIN_ID + b"," + CHAIN_ID + b"]",
    b'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",false]}',
    b'{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}',
    b'{"jsonrpc":"2.0","method":"eth_chainId"}',
    b"nonsense",
]


@pytest.fixture
def client(chain: Chain) -> Client:
    return Client(headers={"host": "localhost"})


@pytest.fixture
def application(shared_chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Everything that a server of this node serves; nothing follows the chain or checks its health."""
    from nodeproject.asgi import Application

    node = this_node()
    monkeypatch.setattr(Application, "_follow", lambda _: None)
    monkeypatch.setattr(node.observation.reporter, "start", lambda: None)
    yield Application(node)
    node.endpoints.workers.close()
    node.plain.workers.close()


def shown(response: HttpResponse) -> tuple[int, dict[str, str], bytes]:
    return response.status_code, dict(response.headers), response.content


def seen(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    return answer.status, answer.headers, answer.body


@pytest.mark.parametrize("body", BODIES)
def test_django_answers_the_same(client: Client, body: bytes) -> None:
    answers = [
        shown(client.post(path, body, content_type="application/json")) for path in ("/", PATH)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


async def test_raw_endpoint_returns_the_same_as_django(application: Any) -> None:
    for body in BODIES:
        answers = [
            seen(await ask(application, "POST", path, JSON, parts=(body,))) for path in ("/", PATH)
        ]
        assert answers[0] == answers[1]
        assert answers[0][0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example", "content-type": "application/json"}, HTTPStatus.FORBIDDEN),
        ({"host": "localhost", "content-type": "text/plain"}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        (
            {"host": "localhost", "content-type": "application/json", "content-length": "9" * 9},
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        ),
    ],
)
async def test_the_gate_is_the_same(
    application: Any, headers: dict[str, str], status: HTTPStatus
) -> None:
    answers = [
        seen(await ask(application, "POST", path, headers, parts=(CHAIN_ID,)))
        for path in ("/", PATH)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == status


@pytest.mark.node_settings(rate_limit=1)
async def test_call_limit_is_shared_by_all_paths(application: Any) -> None:
    first = await ask(application, "POST", PATH, JSON, parts=(CHAIN_ID,))
    second = await ask(application, "POST", "/", JSON, parts=(CHAIN_ID,))
    await this_node().endpoints.close()

    assert (first.status, second.status) == (200, HTTPStatus.TOO_MANY_REQUESTS)


async def test_a_preflight_is_answered_as_by_the_chains_path(application: Any) -> None:
    headers = {
        "host": "localhost", "origin": "https://remix.example",
        "access-control-request-method": "POST", "access-control-request-headers": "content-type",
    }  # fmt: skip
    answers = [seen(await ask(application, "OPTIONS", path, headers)) for path in ("/", PATH)]

    assert answers[0] == answers[1]
    assert answers[0][0] == HTTPStatus.NO_CONTENT


@pytest.mark.usefixtures("chain")
def test_direct_endpoint_serves_the_root_path() -> None:
    heads = RequestHeads(by_path(this_node().endpoints.evm_endpoints()))

    def known(line: str) -> Any:
        text = f"{line}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2"
        return heads.read(text.encode())

    assert known("POST / HTTP/1.1").endpoint is known(f"POST {PATH} HTTP/1.1").endpoint
    for line in ("POST  HTTP/1.1", "POST // HTTP/1.1", "GET / HTTP/1.1", "POST /x HTTP/1.1"):
        assert known(line) is None


@pytest.mark.usefixtures("chain")
def test_calls_are_counted_with_the_chains() -> None:
    endpoints = this_node().endpoints
    paths = by_path(endpoints.all())

    assert paths["/"] is paths[PATH] is endpoints.cchain
    assert "" not in paths


async def test_a_websocket_at_the_root(application: Any) -> None:
    answers = []
    for path in ("/", "/ext/bc/C/ws"):
        communicator = PatientCommunicator(application, path)
        connected, _ = await communicator.connect()
        assert connected
        await communicator.send_to(text_data=CHAIN_ID.decode())
        answers.append(await communicator.receive_from())
        await communicator.disconnect()

    assert answers[0] == answers[1]
    assert json.loads(answers[0])["result"] == hex(43112)


def test_websocket_upgrade_works_at_the_root_but_not_at_a_chain_id() -> None:
    paths = SocketPaths(CCHAIN_WEBSOCKETS)
    chain_id = "2" * 49

    assert "/" in paths
    assert f"/ext/bc/{chain_id}/ws" in paths
    for path in (f"/ext/bc/{chain_id}/", f"/ext/bc/{chain_id}", "", "//"):
        assert path not in paths


def test_a_browser_gets_a_page(client: Client, pchain: PChain, chain: Chain) -> None:
    chain.do()
    page = client.get("/")

    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    text = page.content.decode()
    for part in (
        ">1</a>", 'href="/admin/"', 'href="/ext/docs"', 'href="/ext/metrics"', "local network",
    ):  # fmt: skip
        assert part in text
    connect = client.get("/connect", headers={"host": "127.0.0.1:41895"}).content.decode()
    for part in (
        ">43112</code>", "<dd>12345</dd>", "http://127.0.0.1:41895/", "ws://127.0.0.1:41895/", "/ext/bc/P",
    ):  # fmt: skip
        assert part in connect
    assert "9650" not in connect  # the setting's port: with NODE_HTTP_PORT=0 it is 0
    assert "https://" not in text + connect


async def test_page_is_the_same_at_the_raw_endpoint(
    shared_pchain: PChain, application: Any
) -> None:
    page = await ask(application, "GET", "/", {"host": "localhost"})
    head = await ask(application, "HEAD", "/", {"host": "localhost"})

    assert page.status == 200
    assert page.body.startswith(b"<!doctype html>")
    # Omitting the body is the server's task: Django returns it in both cases.
    assert (head.status, head.headers) == (200, page.headers)
    stranger = await ask(application, "GET", "/", {"host": "evil.example"})
    assert stranger.status == HTTPStatus.FORBIDDEN


@pytest.mark.node_settings(chains=("P",))
def test_root_without_the_c_chain_serves_the_page_only(
    db: None, node_settings: Any, pchain: PChain
) -> None:
    node = Node(updated(node_settings, chains=("P",)))
    front = node.plain.front

    assert not front.passes("POST", "/")
    assert b"this node does not take part in the C-Chain" in _reply(front, "POST")
    assert front.passes("GET", "/")


def _reply(front: Any, method: str) -> bytes:
    from jsonrpc.dispatch.gate import RequestHead

    reply = front.page(RequestHead(method, {b"host": b"localhost"}, False, ""), "/")
    assert reply.status == HTTPStatus.NOT_FOUND
    body: bytes = reply.body
    return body
