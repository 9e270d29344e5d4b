"""`/ext/info` and its messages, through Django and through the raw endpoint."""

import json
from typing import Any

import pytest
from django.test import Client

from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import by_path
from nodeproject.apps import this_node
from tests.integration.platform_app.conftest import PChain
from tests.unit.jsonrpc.test_endpoints import Answer, ask, elsewhere

pytestmark = pytest.mark.sqlite_only


def body(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()


def through_django(content: bytes, method: str = "POST") -> Any:
    client = Client(headers={"host": "localhost"})
    return client.generic(method, "/ext/info", content, "application/json")


async def through_the_raw_endpoint(content: bytes, method: str = "POST") -> Answer:
    workers = Workers(threads=1)
    try:
        app = AsgiRpc(by_path(this_node().endpoints.all()), elsewhere, Answering(workers))
        return await ask(app, method, "/ext/info", parts=(content,))
    finally:
        workers.close()


# These methods answer from memory: the threads of the raw endpoint do not see a test's transaction.
CALLS = [
    body("info.getNodeID"),
    body("info.getNetworkID"),
    body("info.getTxFee"),
    body("info.upgrades"),
    body("info.nope"),
    body("platform.getHeight"),
    b"not json",
    b"[]",
]


@pytest.mark.parametrize("content", CALLS)
async def test_both_endpoints_return_the_same_bytes(pchain: PChain, content: bytes) -> None:
    raw = await through_the_raw_endpoint(content)
    plain = through_django(content)

    assert (raw.status, raw.body) == (plain.status_code, plain.content)
    assert raw.headers["node-id"] == plain.headers["node-id"] == str(pchain.node_id)


@pytest.mark.usefixtures("pchain")
async def test_error_messages_equal_avalanchegos() -> None:
    unknown = await through_the_raw_endpoint(body("info.nope"))
    assert json.loads(unknown.body)["error"] == {
        "code": -32000,
        "message": 'rpc: can\'t find method "info.Nope"',
        "data": None,
    }
    refused = await through_the_raw_endpoint(b"", "GET")
    assert (refused.status, refused.body) == (405, b"rpc: POST method required, received GET\n")


@pytest.mark.usefixtures("pchain")
def test_requests_through_django_read_the_database() -> None:
    answer = json.loads(through_django(body("info.isBootstrapped", chain="C")).content)
    assert answer == {"jsonrpc": "2.0", "result": {"isBootstrapped": True}, "id": 7}
