"""Blocks: bytes, verification, genesis and stop vertices."""

from typing import Any, NamedTuple

import pytest

from chainvm.errors import InvalidBlock
from primitives import addresses
from primitives.codec_errors import CodecError
from primitives.ids import ID, ShortID
from tests.conformance.xchain_vectors import cases, document, raw_bytes, world
from utxo.components import TransferOutput
from xchain_app.blocks.block import build_block, genesis_block, parse_block, render_block
from xchain_app.blocks.processing import AvmProcessingBlocks
from xchain_app.genesis.genesis import AvmGenesisLayout, encode_genesis, parse_genesis
from xchain_app.genesis.stop_vertex import stop_vertex
from xchain_app.txs.codec import GENESIS_CODEC


class StoredBlock(NamedTuple):
    """The ID and height of a stored block."""

    block_id: ID
    height: int


def shown(address: ShortID) -> str:
    return f"X-{addresses.encode('local', address)}"


@pytest.mark.parametrize("case", cases("blocks"))
def test_blocks_are_verified_as_by_the_reference(case: dict[str, Any]) -> None:
    here = world() if case["bootstrapped"] else world().bootstrapping()
    here.state.time = case["genesisTime"]
    blocks = AvmProcessingBlocks(StoredBlock(ID.parse(case["genesisBlockID"]), 0), here.state)
    for before in case["processing"]:
        blocks.verify(parse_block(raw_bytes(before)), here.env, case["clock"])

    step, error = "valid", None
    try:
        block = parse_block(raw_bytes(case["block"]))
        blocks.verify(block, here.env, case["clock"])
    except CodecError as reason:
        step, error = "parse", str(reason)
    except InvalidBlock as reason:
        step, error = "verify", str(reason)

    assert step == case["step"]
    if "errorStart" in case:
        assert error is not None
        assert error.startswith(case["errorStart"])
        assert error.endswith(case["errorEnd"])
    else:
        assert error == case["error"]
    if step == "valid":
        fields, after = case["fields"], case.get("after")
        assert {
            "id": str(block.block_id), "parentID": str(block.parent_id), "height": block.height,
            "time": block.time, "merkleRoot": str(block.merkle_root),
            "txIDs": [str(tx.tx_id) for tx in block.txs],
        } == fields  # fmt: skip
        state = blocks.effect(block.block_id).state
        assert all(state.utxo(utxo_id) for utxo_id in state.produced)
        if after is not None:
            assert state.timestamp() == after["timestamp"]
            assert sorted(map(str, state.produced)) == sorted(after["newUTXOs"])


@pytest.mark.parametrize("case", cases("network_blocks", "network_blocks_5"))
def test_the_blocks_of_running_networks_are_read_and_written(case: dict[str, Any]) -> None:
    raw = raw_bytes(case["block"])

    block = parse_block(raw)

    assert str(block.block_id) == case["blockID"]
    if "transactions" in case:
        assert [tx.raw for tx in block.txs] == [raw_bytes(tx) for tx in case["transactions"]]
    rendered = render_block(block, shown)
    wanted = case["json"]
    wanted = wanted.get("block", wanted)
    assert rendered == wanted | {"txs": wanted["txs"] or []}
    if block.txs:
        assert (
            build_block(
                parent_id=block.parent_id, height=block.height, time=block.time, txs=block.txs
            ).raw
            == raw
        )


@pytest.mark.parametrize("case", cases("genesis"))
def test_the_genesis_gives_the_same_ids(case: dict[str, Any]) -> None:
    raw = raw_bytes(case["genesis"])

    genesis = parse_genesis(raw, ID.parse(case.get("chainID", str(ID(bytes(32))))))

    assert str(genesis.fee_asset_id) == case["assets"][0]["assetID"]
    assert encode_genesis(GENESIS_CODEC.unmarshal(AvmGenesisLayout, raw).assets) == raw
    for asset, wanted in zip(genesis.assets, case["assets"], strict=True):
        assert asset.alias == wanted["alias"]
        assert str(asset.tx.tx_id) == wanted["assetID"]
    if "definitions" in case:
        return
    (first, *_) = case["assets"]
    outputs = [utxo for utxo in genesis.utxos() if utxo.asset_id == genesis.fee_asset_id]
    amounts = [utxo.output.amount for utxo in outputs if isinstance(utxo.output, TransferOutput)]
    assert sum(amounts) == first["sum"]
    if not case["stopVertexIsKnownInAdvance"]:
        assert genesis.stop_vertex == raw_bytes(case["stopVertex"])
        assert genesis.block.raw == raw_bytes(case["genesisBlock"])
        assert str(genesis.block.block_id) == case["genesisBlockID"]


def test_the_genesis_of_networks_with_known_stop_vertices() -> None:
    for case in document("genesis")["cases"]:
        if case.get("stopVertexIsKnownInAdvance"):
            block = genesis_block(ID.parse(case["stopVertexID"]), case["cortinaTime"])
            assert str(block.block_id) == case["genesisBlockID"]


@pytest.mark.parametrize("case", cases("stop_vertices"))
def test_stop_vertices(case: dict[str, Any]) -> None:
    parents = map(ID.parse, case["parents"])

    vertex = stop_vertex(ID.parse(case["chainID"]), case["height"], parents)

    assert vertex.raw == raw_bytes(case["bytes"])
