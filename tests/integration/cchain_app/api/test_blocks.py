"""eth_blockNumber, eth_getBlockBy…, headers, counts and receipts of real blocks."""

import pytest

from cchain_app.blocks.header import decode_header
from primitives.hashing import keccak256
from tests.builders import bytecode


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_block_number_is_the_height_of_the_last_accepted_block(rpc, chain):
    assert rpc("eth_blockNumber") == "0x0"
    chain.do()
    assert rpc("eth_blockNumber") == "0x1"


def test_block_by_number_and_by_hash(rpc, chain):
    sent, block = chain.do()
    found = rpc("eth_getBlockByNumber", "0x1", True)
    assert found == rpc("eth_getBlockByHash", hexed(block.hash), True)
    assert found["hash"] == hexed(block.hash)
    assert found["parentHash"] == hexed(chain.genesis.hash)
    assert found["transactions"][0]["hash"] == hexed(sent.hash)
    assert found["transactions"][0]["blockHash"] == found["hash"]
    assert found["miner"] == "0x01" + "00" * 19
    assert rpc("eth_getBlockByNumber", "0x1", False)["transactions"] == [hexed(sent.hash)]


def test_the_genesis_block_conforms(rpc, chain):
    found = rpc("eth_getBlockByNumber", "earliest", True)
    assert (found["number"], found["parentHash"]) == ("0x0", "0x" + "00" * 32)
    assert "baseFeePerGas" in found
    assert rpc("eth_getBlockReceipts", "earliest") == []


def test_the_shown_header_hashes_to_the_shown_hash(rpc, chain):
    _, block = chain.do()
    raw = bytes.fromhex(rpc("debug_getRawHeader", "latest")[2:])
    assert hexed(keccak256(raw)) == rpc("eth_getHeaderByNumber", "latest")["hash"]
    assert decode_header(raw) == block.header


@pytest.mark.parametrize("forgotten", [False, True])
def test_answers_are_the_same_from_memory_and_from_rows(rpc, chain, forgotten):
    sent, block = chain.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000)
    chain.do(to=bytecode.created(sent.sender, 0), data=b"\x01", gas=200_000)
    asked = [
        ("eth_getBlockByNumber", "0x1", True), ("eth_getBlockByNumber", "0x2", False),
        ("eth_getBlockReceipts", "0x2"), ("eth_getTransactionReceipt", hexed(sent.hash)),
        ("eth_getTransactionByHash", hexed(sent.hash)), ("debug_getRawBlock", "0x2"),
        ("eth_getLogs", {"fromBlock": "0x0"}), ("eth_getHeaderByHash", hexed(block.hash)),
        ("eth_feeHistory", "0x3", "latest", [50]),
    ]  # fmt: skip
    before = [rpc(*item) for item in asked]
    if forgotten:
        chain.forget()
    assert [rpc(*other) for other in asked] == before


def test_blocks_above_the_head_are_null(rpc, chain):
    assert rpc("eth_getBlockByNumber", "0x1", False) is None
    assert rpc("eth_getBlockByHash", "0x" + "00" * 32, False) is None


def test_receipts_of_a_block_are_in_its_order(rpc, chain):
    sent = [chain.make(), chain.make(), chain.make()]
    chain.send(*sent)
    chain.mine()
    receipts = rpc("eth_getBlockReceipts", "latest")
    assert [receipt["transactionHash"] for receipt in receipts] == [
        hexed(item.hash) for item in sent
    ]
    assert [other["cumulativeGasUsed"] for other in receipts] == ["0x5208", "0xa410", "0xf618"]
