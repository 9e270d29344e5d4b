"""Chains under their blockchain IDs and other aliases: the same APIs as under their letters."""

import http.client
import json
from typing import Any

import pytest
from web3 import AsyncWeb3, Web3, WebSocketProvider

from primitives.ids import ID
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.platform_client import PlatformClient

names = pytest.mark.parametrize("name", ["bc/{}", "bc/evm", "C", "evm"])
"""Aliases of the C-Chain below /ext; {} is its blockchain ID."""
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
@names
def test_c_chain_is_reached_by_its_other_names(node: CheckedNode, name: str) -> None:
    path = f"/ext/{name.format(chain_id(node, 'C'))}/rpc"

    assert Web3(Web3.HTTPProvider(f"http://127.0.0.1:{node.port}{path}")).eth.chain_id == CHAIN_ID
    assert post(node, path, "eth_config", []) == post(node, "/ext/bc/C/rpc", "eth_config", [])


@everywhere
@names
async def test_c_chain_websocket_is_reached_by_its_other_names(
    node: CheckedNode, name: str
) -> None:
    url = f"ws://127.0.0.1:{node.port}/ext/{name.format(chain_id(node, 'C'))}/ws"

    async with AsyncWeb3(WebSocketProvider(url)) as client:
        assert await client.eth.chain_id == CHAIN_ID
        assert await client.eth.subscribe("newHeads")


@everywhere
async def test_the_c_chain_at_the_root(node: CheckedNode) -> None:
    for method in ("eth_chainId", "eth_config", "eth_nothing"):
        assert post(node, "/", method, []) == post(node, "/ext/bc/C/rpc", method, [])

    async with AsyncWeb3(WebSocketProvider(f"ws://127.0.0.1:{node.port}")) as client:
        assert await client.eth.chain_id == CHAIN_ID


@everywhere
@pytest.mark.parametrize(("alias", "method"), [("X", "avm.getTxFee"), ("P", "platform.getHeight")])
def test_other_chains_are_reached_by_their_other_names(
    node: CheckedNode, alias: str, method: str
) -> None:
    wanted = post(node, f"/ext/bc/{alias}", method, {})
    assert wanted[0] == 200
    assert "result" in json.loads(wanted[1])

    other = {"X": "avm", "P": "platform"}[alias]
    for path in (f"bc/{chain_id(node, alias)}", f"bc/{other}", alias, other):
        assert post(node, f"/ext/{path}", method, {}) == wanted, path


@everywhere
@pytest.mark.parametrize("path", ["/ext/bc/{}/rpc", "/ext/bc/{}", "/ext/bc/{}/ws"])
def test_unknown_chain_id_is_not_found(node: CheckedNode, path: str) -> None:
    status, _ = post(node, path.format(ID(bytes(range(32)))), "eth_chainId", [])

    assert status == 404
