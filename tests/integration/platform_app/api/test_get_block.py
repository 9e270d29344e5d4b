"""platform.getBlock and getBlockByHeight."""

import pytest

from jsonrpc.errors import JsonRpcError
from platform_app.apps import platform_chain
from platform_app.blocks.block import parse_block
from primitives.checksummed import TextEncoding, decode
from primitives.ids import EMPTY_ID
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal


@pytest.mark.parametrize("encoding", ["hex", "hexc", "hexnc"])
def test_a_block_by_its_id(pchain: PChain, rpc: Rpc, encoding: str) -> None:
    tx = pchain.do(pchain.make())
    tip = platform_chain().tip()

    answer = rpc("platform.getBlock", blockID=str(tip.block_id), encoding=encoding)
    block = parse_block(decode(answer["block"], TextEncoding(encoding)))
    assert answer["encoding"] == encoding
    assert (block.block_id, block.height, block.txs) == (tip.block_id, 1, (tx,))
    assert rpc("platform.getBlockByHeight", height="1", encoding=encoding) == answer


def test_a_block_as_json(pchain: PChain, rpc: Rpc) -> None:
    genesis = platform_chain().tip().block_id
    tx = pchain.do(pchain.make())

    answer = rpc("platform.getBlockByHeight", height=1, encoding="json")
    assert answer["encoding"] == "json"
    shown = answer["block"]
    assert shown.pop("txs") == [rpc("platform.getTx", txID=str(tx.tx_id), encoding="json")["tx"]]
    assert shown == {
        "time": pchain.now,
        "parentID": str(genesis),
        "height": 1,
        "id": str(platform_chain().tip().block_id),
    }


def test_the_genesis_block_is_at_0(pchain: PChain, rpc: Rpc) -> None:
    for params in ({}, {"height": None}, {"height": 0}):
        block = rpc("platform.getBlockByHeight", encoding="json", **params)["block"]
        assert block == {
            "parentID": str(pchain.network.genesis_hash),
            "height": 0,
            "id": str(platform_chain().tip().block_id),
        }


def test_blocks_that_there_are_not(rpc: Rpc) -> None:
    unknown = platform.SUBNET_ID
    assert refusal(rpc, "platform.getBlock", blockID=str(unknown)) == (
        f"couldn't get block with id {unknown}: not found"
    )
    assert refusal(rpc, "platform.getBlock") == (
        f"couldn't get block with id {EMPTY_ID}: not found"
    )
    for height in (1, 2**63, 2**64 - 1):
        assert refusal(rpc, "platform.getBlockByHeight", height=height) == (
            f"couldn't get block at height {height}: not found"
        )
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        rpc("platform.getBlockByHeight", height=2**64)
