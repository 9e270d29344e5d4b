"""Blocks, transactions, receipts and accounts, by tag, number and hash."""

import json

import pytest

from cchain_app.api import registry
from cchain_app.apps import evm_chain
from cchain_app.blocks.header import decode_header
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders import bytecode
from tests.builders.accepted import log
from tests.builders.cchain import COIN, SENDERS
from tests.builders.transactions import RECIPIENT, SENDER, signed

UNKNOWN = "0x" + "99" * 32
NOBODY = "0x" + "77" * 20


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def block(memory_chain):
    """Block 1 with two transactions; block 2 is the head and empty."""
    made = memory_chain.accept(signed(), signed(nonce=1, to=None), logs=[[log()]])
    memory_chain.accept()
    return made


@pytest.mark.parametrize("tag", ["latest", "safe", "finalized"])
def test_tags_of_accepted_blocks_are_the_head(rpc, block, tag):
    assert rpc("eth_getBlockByNumber", tag, False)["number"] == "0x2"


@pytest.mark.node_settings(slots_in_an_epoch=2)
@pytest.mark.usefixtures("node_settings", "block")
@pytest.mark.parametrize(
    ("tag", "height", "after_more"),
    [("latest", 2, 5), ("safe", 0, 3), ("finalized", 0, 1), ("accepted", 2, 5)],
)
def test_with_epochs_safe_and_finalized_are_behind_the_head(
    memory_chain, rpc, tag, height, after_more
):
    assert rpc("eth_getBlockByNumber", tag, False)["number"] == hex(height)
    for _ in range(3):
        memory_chain.accept()
    assert rpc("eth_getBlockByNumber", tag, False)["number"] == hex(after_more)
    assert rpc("eth_getBlockTransactionCountByNumber", tag) == ("0x2" if after_more == 1 else "0x0")


def test_pending_is_the_head_where_no_pending_block_is_built(rpc, block):
    assert rpc("eth_getBlockByNumber", "pending", False) == rpc(
        "eth_getBlockByNumber", "latest", False
    )


def test_earliest_is_the_genesis_block(rpc, block):
    assert rpc("eth_getBlockByNumber", "earliest", False)["number"] == "0x0"


def test_a_block_by_number_and_by_hash_is_the_same(rpc, block):
    by_number = rpc("eth_getBlockByNumber", "0x1", True)
    assert by_number == rpc("eth_getBlockByHash", hexed(block.hash), True)
    assert [item["hash"] for item in by_number["transactions"]] == [
        hexed(transaction.hash) for transaction in block.transactions
    ]


@pytest.mark.parametrize("unknown", [UNKNOWN, "0x" + "00" * 32])
def test_an_unknown_hash_is_null_everywhere(rpc, block, unknown):
    assert rpc("eth_getBlockByHash", unknown, False) is None
    assert rpc("eth_getHeaderByHash", unknown) is None
    assert rpc("eth_getBlockTransactionCountByHash", unknown) is None
    assert rpc("eth_getUncleCountByBlockHash", unknown) is None
    assert rpc("eth_getUncleByBlockHashAndIndex", unknown, "0x0") is None
    assert rpc("eth_getTransactionByBlockHashAndIndex", unknown, "0x0") is None
    assert rpc("eth_getRawTransactionByBlockHashAndIndex", unknown, "0x0") == "0x"
    assert rpc("eth_getTransactionByHash", unknown) is None
    assert rpc("eth_getTransactionReceipt", unknown) is None
    assert rpc("eth_getRawTransactionByHash", unknown) == "0x"
    assert rpc("eth_getBlockReceipts", unknown) is None


def test_a_height_above_the_head_is_null_everywhere(rpc, block):
    assert rpc("eth_getBlockByNumber", "0x3", True) is None
    assert rpc("eth_getHeaderByNumber", "0x3") is None
    assert rpc("eth_getBlockTransactionCountByNumber", "0x3") is None
    assert rpc("eth_getUncleCountByBlockNumber", "0x3") is None
    assert rpc("eth_getTransactionByBlockNumberAndIndex", "0x3", "0x0") is None
    assert rpc("eth_getBlockReceipts", "0x3") is None


def test_both_arguments_of_a_block_are_required(rpc, block):
    for method, first in (("eth_getBlockByNumber", "0x1"), ("eth_getBlockByHash", UNKNOWN)):
        with pytest.raises(JsonRpcError) as failure:
            rpc(method, first)
        assert (failure.value.code, failure.value.message) == (
            -32602, "missing value for required argument 1",
        )  # fmt: skip


def test_a_header_is_the_block_without_its_body(rpc, block):
    body = rpc("eth_getBlockByNumber", "0x1", False)
    header = rpc("eth_getHeaderByNumber", "0x1")
    assert header == rpc("eth_getHeaderByHash", hexed(block.hash))
    assert set(body) - set(header) == {"size", "transactions", "uncles", "withdrawals"}
    assert all(body[name] == value for name, value in header.items())


def test_counts_of_transactions_and_uncles(rpc, block):
    assert rpc("eth_getBlockTransactionCountByNumber", "0x1") == "0x2"
    assert rpc("eth_getBlockTransactionCountByHash", hexed(block.hash)) == "0x2"
    assert rpc("eth_getUncleCountByBlockNumber", "0x1") == "0x0"
    assert rpc("eth_getUncleCountByBlockHash", hexed(block.hash)) == "0x0"
    assert rpc("eth_getUncleByBlockNumberAndIndex", "0x1", "0x0") is None


def test_a_transaction_by_its_place_and_by_hash_is_the_same(rpc, block):
    found = rpc("eth_getTransactionByHash", hexed(block.transactions[1].hash))
    assert found == rpc("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x1")
    assert found == rpc("eth_getTransactionByBlockHashAndIndex", hexed(block.hash), "0x1")
    assert rpc("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x2") is None
    assert rpc("eth_getTransactionByBlockHashAndIndex", hexed(block.hash), "0x2") is None


def test_a_raw_transaction_is_the_envelope(rpc, block):
    raw = hexed(block.transactions[0].raw)
    assert rpc("eth_getRawTransactionByHash", hexed(block.transactions[0].hash)) == raw
    assert rpc("debug_getRawTransaction", hexed(block.transactions[0].hash)) == raw
    assert rpc("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x0") == raw
    assert rpc("eth_getRawTransactionByBlockHashAndIndex", hexed(block.hash), "0x0") == raw
    assert rpc("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x2") == "0x"


def test_a_waiting_transaction_is_found_without_a_block_and_has_no_receipt(rpc, memory_chain):
    waiting = signed(nonce=5)
    memory_chain.pending.append(waiting)
    assert rpc("eth_getTransactionByHash", hexed(waiting.hash))["blockHash"] is None
    assert rpc("eth_getTransactionReceipt", hexed(waiting.hash)) is None
    assert rpc("eth_getRawTransactionByHash", hexed(waiting.hash)) == hexed(waiting.raw)


def test_receipts_of_a_block_are_those_of_its_transactions(rpc, block):
    receipts = rpc("eth_getBlockReceipts", "0x1")
    assert receipts == [
        rpc("eth_getTransactionReceipt", hexed(transaction.hash))
        for transaction in block.transactions
    ]
    assert rpc("eth_getBlockReceipts", hexed(block.hash)) == receipts
    assert rpc("eth_getBlockReceipts", {"blockHash": hexed(block.hash)}) == receipts


@pytest.mark.parametrize("empty", ["0x0", "earliest", "latest"])
def test_an_empty_block_has_an_empty_array_of_receipts(rpc, block, empty):
    assert rpc("eth_getBlockReceipts", empty) == []


def test_a_raw_header_hashes_to_the_block(rpc, block):
    raw = bytes.fromhex(rpc("debug_getRawHeader", "0x1")[2:])
    assert keccak256(raw) == block.hash
    assert decode_header(raw) == block.header


def test_a_raw_block_has_the_size_that_is_shown(rpc, block):
    raw = rpc("debug_getRawBlock", "0x1")
    assert hex(len(raw) // 2 - 1) == rpc("eth_getBlockByNumber", "0x1", False)["size"]


def test_raw_receipts_are_envelopes(rpc, block):
    first, second = rpc("debug_getRawReceipts", "0x1")
    assert first.startswith("0x02f9")
    assert second.startswith("0x02f9")


@pytest.mark.parametrize(
    ("method", "above_the_head"),
    [("debug_getRawBlock", "0x"), ("debug_getRawHeader", "0x"), ("debug_getRawReceipts", None)],
)
def test_above_the_head_there_is_nothing_raw(rpc, block, method, above_the_head):
    assert rpc(method, "0xffff") == above_the_head


def test_raw_forms_of_unknown_hashes_are_errors_but_for_receipts(rpc, block):
    unknown = "0x" + "12" * 32
    for method, what in (("debug_getRawBlock", "block"), ("debug_getRawHeader", "header")):
        with pytest.raises(JsonRpcError, match=f"^.*{what} {unknown} not found"):
            rpc(method, unknown)
    assert rpc("debug_getRawReceipts", unknown) == []


def test_balance_nonce_and_code_of_an_account(rpc, memory_chain):
    memory_chain.state.put(RECIPIENT, balance=COIN, nonce=3, code=bytecode.COUNTER)
    asked = hexed(RECIPIENT)
    assert rpc("eth_getBalance", asked, "latest") == hex(COIN)
    assert rpc("eth_getTransactionCount", asked, "latest") == "0x3"
    assert rpc("eth_getCode", asked, "latest") == hexed(bytecode.COUNTER)
    assert rpc("eth_getAccountInfo", asked, "latest") == {
        "balance": hex(COIN), "nonce": "0x3", "code": hexed(bytecode.COUNTER),
    }  # fmt: skip


def test_an_unknown_account_has_zero_values(rpc, memory_chain):
    assert rpc("eth_getBalance", NOBODY, "latest") == "0x0"
    assert rpc("eth_getTransactionCount", NOBODY, "latest") == "0x0"
    assert rpc("eth_getCode", NOBODY, "latest") == "0x"
    assert rpc("eth_getStorageAt", NOBODY, "0x0", "latest") == "0x" + "00" * 32


def test_the_block_is_optional_for_state(rpc, memory_chain):
    asked = hexed(SENDERS[0])
    assert rpc("eth_getBalance", asked) == rpc("eth_getBalance", asked, "latest")
    assert rpc("eth_getBalance", asked, None) == rpc("eth_getBalance", asked, "latest")
    assert rpc("eth_getTransactionCount", asked) == "0x0"
    assert rpc("eth_getCode", asked) == "0x"
    assert rpc("eth_getStorageAt", asked, "0x0") == "0x" + "00" * 32


def test_a_slot_is_read_by_keys_in_every_form(rpc, memory_chain):
    memory_chain.state.put(RECIPIENT, code=b"\x00", storage={0: 0, 10: 77})
    for key in ("0xa", "0x0a", "a", "0x" + (10).to_bytes(32, "big").hex()):
        assert int(rpc("eth_getStorageAt", hexed(RECIPIENT), key, "latest"), 16) == 77


STATE_METHODS = (
    ("eth_getBalance", []), ("eth_getTransactionCount", []), ("eth_getCode", []),
    ("eth_getStorageAt", ["0x0"]), ("eth_getAccountInfo", []),
)  # fmt: skip


@pytest.mark.parametrize(("method", "between"), STATE_METHODS)
def test_state_at_an_unknown_block_is_an_error(rpc, block, method, between):
    for wanted, words in (
        ("0x64", "header not found"),
        ({"blockNumber": "0x64"}, "header not found"),
        (UNKNOWN, "header for hash not found"),
        ({"blockHash": UNKNOWN, "requireCanonical": True}, "header for hash not found"),
    ):
        with pytest.raises(JsonRpcError) as failure:
            rpc(method, hexed(SENDER), *between, wanted)
        assert (failure.value.code, failure.value.message) == (-32000, words)


@pytest.mark.parametrize(("method", "between"), STATE_METHODS)
def test_state_is_asked_by_hash_in_both_forms(rpc, block, method, between):
    for wanted in (
        hexed(block.hash),
        {"blockHash": hexed(block.hash)},
        {"blockHash": hexed(block.hash), "requireCanonical": True},
        {"blockNumber": "0x1"},
    ):
        assert rpc(method, hexed(SENDER), *between, wanted) is not None


def test_pending_transaction_count_is_read_from_the_pool(rpc, memory_chain, monkeypatch):
    monkeypatch.setattr("cchain_app.selectors.pool.next_nonce", lambda _, _address: 9)
    assert rpc("eth_getTransactionCount", hexed(SENDER), "pending") == "0x9"
    assert rpc("eth_getTransactionCount", hexed(SENDER), "latest") == "0x0"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([], "missing value for required argument 0"),
        ([None], "missing value for required argument 0"),
        ([NOBODY, "latest", 1], "too many arguments, want at most 2"),
        (["0x12"], "invalid argument 0: hex string has length 2, want 40 for common.Address"),
        ([NOBODY, "newest"], "invalid argument 1: hex string without 0x prefix"),
        ([NOBODY, "0x01"], "invalid argument 1: hex number with leading zero digits"),
        ([NOBODY, 1], "invalid argument 1: hex string without 0x prefix"),
    ],
)
def test_bad_arguments_are_counted_from_zero(rpc, memory_chain, params, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getBalance", *params)
    assert (failure.value.code, failure.value.message) == (-32602, words)


def test_node_information_methods_answer(rpc, memory_chain):
    assert rpc("eth_chainId") == "0xa868"
    assert rpc("net_version") == "43112"
    assert rpc("eth_syncing") is False
    assert rpc("net_listening") is True
    assert rpc("net_peerCount") == "0x0"
    assert rpc("eth_coinbase") == "0x01" + "00" * 19
    assert rpc("eth_mining") is False
    assert rpc("eth_hashrate") == "0x0"
    assert rpc("web3_sha3", "0x") == hexed(EMPTY_HASH)
    assert rpc("eth_getChainConfig")["chainId"] == 43_112
    assert rpc("eth_chainConfig")["pragueTime"] == 0


def test_rpc_modules_are_the_prefixes_of_methods(rpc, memory_chain):
    assert rpc("rpc_modules") == {
        "anvil": "1.0", "debug": "1.0", "erigon": "1.0", "eth": "1.0", "evm": "1.0", "hardhat": "1.0",
        "net": "1.0", "ots": "1.0", "personal": "1.0", "rpc": "1.0", "tenderly": "1.0", "trace": "1.0",
        "txpool": "1.0", "warp": "1.0", "web3": "1.0",
    }  # fmt: skip


@pytest.mark.parametrize("tag", ["accepted", "latest", "finalized"])
def test_the_last_accepted_block_has_many_names(rpc, block, tag):
    head = rpc("eth_getHeaderByNumber", rpc("eth_blockNumber"))
    assert rpc("eth_getHeaderByNumber", tag) == head
    assert rpc("eth_getBlockByNumber", tag, False)["hash"] == head["hash"]
    assert rpc("eth_getLogs", {"fromBlock": tag, "toBlock": tag}) is not None


def test_unknown_method_error_matches_ethers(rpc, memory_chain):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_signTransactions", {})
    assert (failure.value.code, failure.value.message) == (
        -32601, "the method eth_signTransactions does not exist/is not available",
    )  # fmt: skip


def test_bootstrapping_is_shown_as_progress(rpc, memory_chain):
    from cchain_app.syncing import SyncProgress

    evm_chain().progress = SyncProgress(1, 5, 9)
    try:
        assert rpc("eth_syncing") == {
            "startingBlock": "0x1", "currentBlock": "0x5", "highestBlock": "0x9",
        }  # fmt: skip
    finally:
        evm_chain().progress = None
    assert rpc("eth_syncing") is False


def test_a_bad_call_in_a_batch_of_balances_spoils_no_other(block):
    body = [
        {"jsonrpc": "2.0", "id": n, "method": "eth_getBalance", "params": [NOBODY, place]}
        for n, place in enumerate(["latest", "0x64", "0x1", "latest", "newest"])
    ]
    answers = json.loads(
        Dispatcher(registry(this_node().evm_rpc)).answer(json.dumps(body).encode())
    )
    assert [answer.get("result") for answer in answers] == ["0x0", None, "0x0", "0x0", None]
    assert [item["error"]["code"] for item in answers if "error" in item] == [-32000, -32602]
