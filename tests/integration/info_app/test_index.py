"""`index.*`: accepted outer blocks of each chain by their order, and the empty indexes that the X-Chain has kept."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from info_app import container_index
from jsonrpc.errors import JsonRpcError
from network_app.apps import node_network
from nodeproject.apps import this_node
from nodeproject.web.indexes import EMPTY_INDEX_PATHS, INDEX_PATHS
from primitives.checksummed import TextEncoding, decode
from primitives.ids import P_CHAIN_ID
from primitives.keys import EWOQ_KEY, address_of
from tests.integration.explorer_app.x_history import COIN
from tests.integration.platform_app.conftest import PChain, Rpc, asking
from xchain_app.services import mempool, wallet
from xchain_app.wallet.transactions import AssetPayment

VECTORS = Path(__file__).parents[2] / "vectors" / "xchain" / "network_api.json"
EWOQ = address_of(EWOQ_KEY)
BLOCKS = 3


@pytest.fixture
def index(pchain: PChain) -> Rpc:
    """Call a method of the X-Chain's index; the chain has three blocks above genesis."""
    chain, runtime = this_node().avm_chain, this_node().avm_runtime
    asset = chain.stored().fee_asset_id
    for _ in range(BLOCKS):
        pchain.now += 1
        own = wallet.own_wallet(chain, [EWOQ_KEY], now=pchain.now)
        tx = own.export(AssetPayment(asset, COIN, EWOQ), P_CHAIN_ID)
        mempool.issue_tx(chain, tx, now=pchain.now)
        assert runtime.consensus.produce(now=pchain.now) is not None
    node_network().chains["X"].begin()
    return asking(this_node().endpoints.indexes[INDEX_PATHS["X"]].dispatcher)


def test_containers_are_the_outer_blocks_in_order(index: Rpc, pchain: PChain) -> None:
    rows = node_network().chains["X"].rows
    ids = [str(rows.id_at(height)) for height in range(1, BLOCKS + 1)]
    found = index("index.getContainerRange", startIndex=0, numToFetch=1024)["containers"]
    assert [one["id"] for one in found] == ids
    assert [one["index"] for one in found] == ["0", "1", "2"]
    for place, one in enumerate(found):
        raw = decode(one["bytes"], TextEncoding.HEX)
        (expected,) = rows.raws(place + 1, place + 1, 1)
        assert raw == expected[1]
        assert one["encoding"] == "hex"
        assert index("index.getContainerByIndex", index=str(place)) == one
        assert index("index.getContainerByID", id=one["id"]) == one
        assert index("index.getIndex", id=one["id"]) == {"index": str(place)}
        assert index("index.isAccepted", id=one["id"]) == {"isAccepted": True}
    assert index("index.getLastAccepted") == found[-1]
    assert index("index.getContainerRange", startIndex=1, numToFetch=1) == {
        "containers": [found[1]]
    }
    assert found[-1]["timestamp"].endswith("Z")
    bare = index("index.getLastAccepted", encoding="hexnc")["bytes"]
    assert found[-1]["bytes"].startswith(bare)


def test_a_large_range_is_cut_off(index: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_index, "MAX_BYTES", 1)
    found = index("index.getContainerRange", startIndex=1, numToFetch=2)["containers"]
    assert [one["index"] for one in found] == ["1"]


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getContainerByIndex", {"index": 3}, "no container at index 3"),
        ("getContainerRange", {"startIndex": 3, "numToFetch": 1},
         "start index (3) > last accepted index (2)"),
        ("getContainerRange", {"startIndex": 0}, "numToFetch must be in [1,1024] but is 0"),
        ("getContainerRange", {"numToFetch": 1025}, "numToFetch must be in [1,1024] but is 1025"),
        ("getIndex", {}, "not found"),
        ("getContainerByID", {}, "not found"),
        ("getLastAccepted", {"encoding": "json"}, "unsupported encoding in method"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(
    index: Rpc, method: str, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(JsonRpcError) as refused:
        index(f"index.{method}", **params)
    assert refused.value.message == message
    assert refused.value.code == -32000


def test_the_genesis_block_is_no_container(index: Rpc) -> None:
    genesis = str(node_network().chains["X"].rows.genesis.block_id)
    assert index("index.isAccepted", id=genesis) == {"isAccepted": False}


def test_empty_indexes_answer_as_the_reference(pchain: PChain, client: Client) -> None:
    cases = [
        case
        for case in json.loads(VECTORS.read_text())["cases"]
        if case["path"] in EMPTY_INDEX_PATHS or "index block: index.getIndex" in case["name"]
    ]
    assert len(cases) > 6
    for case in cases:
        answer = client.post(case["path"], case["request"], content_type="application/json")
        assert answer.status_code == case["status"]
        assert answer.json() == case["response"], case["name"]


def test_each_chain_has_an_index(pchain: PChain, client: Client) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "index.getLastAccepted", "params": {}}
    for path in INDEX_PATHS.values():
        answer = client.post(path, call, content_type="application/json")
        assert answer.status_code == HTTPStatus.OK
        assert answer.json()["error"]["message"] == "no containers have been accepted"
    assert client.get(INDEX_PATHS["P"]).status_code == HTTPStatus.METHOD_NOT_ALLOWED
