"""The paths of the APIs whose params are passed by name, through Django and through the raw endpoint."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import by_path
from nodeproject.apps import this_node
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import PChain
from tests.unit.jsonrpc.test_endpoints import Answer, ask, elsewhere

pytestmark = pytest.mark.sqlite_only

PLATFORM = [
    "/ext/P", "/ext/bc/P", "/ext/platform", "/ext/bc/platform",
    "/ext/bc/11111111111111111111111111111111LpoYY",
]  # fmt: skip
XCHAIN = ["/ext/bc/X", "/ext/X", "/ext/bc/avm", "/ext/avm"]
CALLS = {
    **dict.fromkeys(PLATFORM, ("platform.getHeight", {"height": "0"})),
    "/ext/keystore": ("keystore.listUsers", {"users": []}),
    **dict.fromkeys(XCHAIN, ("avm.getTxFee", {"txFee": "1000", "createAssetTxFee": "10000"})),
}

Knock = Callable[..., Any]


@pytest.fixture(params=["raw", "django"])
def knock(request: pytest.FixtureRequest, pchain: PChain) -> Knock:
    """Return a function that sends a request to an endpoint and returns status, headers and body."""

    async def raw(path: str, body: bytes, method: str = "POST") -> Answer:
        workers = Workers(threads=1)
        app = AsgiRpc(by_path(this_node().endpoints.all()), elsewhere, Answering(workers))
        try:
            return await ask(app, method, path, parts=(body,))
        finally:
            workers.close()

    async def through_django(path: str, body: bytes, method: str = "POST") -> Answer:
        client = Client(headers={"host": "localhost"})
        response = client.generic(method, path, body, "application/json")
        answer = Answer()
        answer.status, answer.body = response.status_code, response.content
        answer.headers = {name.lower(): value for name, value in response.headers.items()}
        return answer

    return raw if request.param == "raw" else through_django


def call(method: str, params: object = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


# The raw endpoint answers in threads, which do not see uncommitted rows of a test; so these calls are
# answered from memory, or by Django in the test's own thread.
@pytest.mark.parametrize("path", CALLS)
def test_each_path_has_its_interface(pchain: PChain, path: str) -> None:
    method, result = CALLS[path]

    response = Client(headers={"host": "localhost"}).post(
        path, call(method), content_type="application/json"
    )

    assert response.status_code == 200
    assert json.loads(response.content) == {"jsonrpc": "2.0", "result": result, "id": 1}
    assert response.headers["node-id"] == str(pchain.node_id)
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert path in by_path(this_node().endpoints.all())


@pytest.mark.parametrize("path", CALLS)
async def test_both_endpoints_have_avalanchegos_messages(knock: Knock, path: str) -> None:
    service = CALLS[path][0].partition(".")[0]
    unknown = await knock(path, call(f"{service}.nope"))
    assert json.loads(unknown.body)["error"] == {
        "code": -32000,
        "message": f'rpc: can\'t find method "{service}.Nope"',
        "data": None,
    }
    for method in ("GET", "PUT", "DELETE"):
        refused = await knock(path, b"", method)
        assert (refused.status, refused.body) == (
            405,
            f"rpc: POST method required, received {method}\n".encode(),
        )
        assert refused.headers["node-id"].startswith("NodeID-")


@pytest.mark.parametrize("path", PLATFORM)
async def test_both_endpoints_answer_from_memory(knock: Knock, path: str) -> None:
    answer = await knock(path, call("platform.getMinStake"))
    assert json.loads(answer.body)["result"]["minDelegatorStake"] == "25000000"


@pytest.mark.parametrize("path", ["bc/C", "C", "bc/evm", "evm"])
async def test_the_c_chain_has_the_header_too(knock: Knock, path: str) -> None:
    answer = await knock(f"/ext/{path}/rpc", b"5")
    assert answer.headers["node-id"].startswith("NodeID-")
    assert b"invalid request" in answer.body


def test_node_without_certificate_sends_no_node_id(pchain: PChain, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, staking_cert_file="/nowhere/staker.crt")

    response = Client(headers={"host": "localhost"}).post(
        "/ext/P", call("platform.getMinStake"), content_type="application/json"
    )

    assert response.status_code == 200
    assert "node-id" not in response.headers


@pytest.mark.node_settings(rate_limit=1)
def test_only_the_c_chain_is_limited(pchain: PChain) -> None:
    limited = [
        endpoint for endpoint in this_node().endpoints.all() if endpoint.throttle is not None
    ]
    assert limited == [this_node().endpoints.cchain]


def test_the_page_shows_calls_that_work(pchain: PChain) -> None:
    client = Client(headers={"host": "localhost"})
    document = json.loads(client.get("/ext/openapi.json").content)

    for path in ("/ext/P", "/ext/bc/P", "/ext/keystore", "/ext/bc/X"):
        (operation,) = document["paths"][path].values()
        example = operation["requestBody"]["content"]["application/json"]["example"]
        answer = client.post(path, json.dumps(example), content_type="application/json")
        assert "result" in json.loads(answer.content), path
