"""Chains by their blockchain IDs: the same interfaces as by their letters, as the reference has them."""

import http.client
import json
from typing import Any

import pytest
from web3 import AsyncWeb3, Web3, WebSocketProvider

from primitives.ids import ID
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.platform_client import PlatformClient

everywhere = pytest.mark.parametrize("node", ["embedded", "daphne"], indirect=True)


def chain_id(node: CheckedNode, alias: str) -> str:
    with PlatformClient(node.port) as client:
        found: str = client.call("info.getBlockchainID", alias=alias)["blockchainID"]
    return found


def post(node: CheckedNode, path: str, method: str, params: Any) -> tuple[int, bytes]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    try:
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@everywhere
def test_the_c_chain_by_its_id(node: CheckedNode) -> None:
    path = f"/ext/bc/{chain_id(node, 'C')}/rpc"

    assert Web3(Web3.HTTPProvider(f"http://127.0.0.1:{node.port}{path}")).eth.chain_id == CHAIN_ID
    assert post(node, path, "eth_config", []) == post(node, "/ext/bc/C/rpc", "eth_config", [])


@everywhere
async def test_the_c_chain_s_websocket_by_its_id(node: CheckedNode) -> None:
    url = f"ws://127.0.0.1:{node.port}/ext/bc/{chain_id(node, 'C')}/ws"

    async with AsyncWeb3(WebSocketProvider(url)) as client:
        assert await client.eth.chain_id == CHAIN_ID
        assert await client.eth.subscribe("newHeads")


@everywhere
@pytest.mark.parametrize(("alias", "method"), [("X", "avm.getTxFee"), ("P", "platform.getHeight")])
def test_the_others_by_their_ids(node: CheckedNode, alias: str, method: str) -> None:
    status, answer = post(node, f"/ext/bc/{chain_id(node, alias)}", method, {})

    assert status == 200
    assert (status, answer) == post(node, f"/ext/bc/{alias}", method, {})
    assert "result" in json.loads(answer)


@everywhere
@pytest.mark.parametrize("path", ["/ext/bc/{}/rpc", "/ext/bc/{}", "/ext/bc/{}/ws"])
def test_an_id_that_no_chain_has_leads_nowhere(node: CheckedNode, path: str) -> None:
    status, _ = post(node, path.format(ID(bytes(range(32)))), "eth_chainId", [])

    assert status == 404
