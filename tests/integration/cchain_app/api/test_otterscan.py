"""ots_* and erigon_*: the requests of Otterscan."""

import pytest

from jsonrpc.errors import JsonRpcError
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, hexed, traced_chain

NOWHERE = "0x" + "12" * 32


@pytest.fixture
def made(chain):
    return traced_chain(chain)


@pytest.fixture
def engine(made, monkeypatch):
    counting = CountingEngine(made.chain.evm.engine)
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", counting)
    return counting


def test_the_api_level_is_a_plain_number(rpc, chain):
    assert rpc("ots_getApiLevel") == 8


@pytest.mark.parametrize("number", [2, "0x2"])
def test_a_header_is_had_by_number_or_quantity(rpc, made, number):
    header = rpc("erigon_getHeaderByNumber", number)

    assert header == rpc("eth_getHeaderByNumber", "0x2")
    assert rpc("erigon_getHeaderByHash", header["hash"]) == header


def test_header_of_missing_block_is_null(rpc, made):
    assert rpc("erigon_getHeaderByNumber", 99) is None
    assert rpc("erigon_getHeaderByHash", NOWHERE) is None
    assert rpc("erigon_getHeaderByNumber", "latest")["number"] == "0x3"


@pytest.mark.parametrize("number", [True, -1, 2**63, "two"])
def test_an_invalid_height_is_refused(rpc, made, number):
    with pytest.raises(JsonRpcError) as refusal:
        rpc("erigon_getHeaderByNumber", number)
    assert refusal.value.code == -32602


def test_code_is_there_from_its_block_on(rpc, made):
    assert rpc("ots_hasCode", hexed(ADDRESSES["counter"]), "latest") is True
    assert rpc("ots_hasCode", hexed(ADDRESSES["counter"]), 0) is False
    assert rpc("ots_hasCode", hexed(SENDER), 3) is False
    with pytest.raises(JsonRpcError, match="header not found"):
        rpc("ots_hasCode", hexed(SENDER), 99)


def test_block_details_are_header_and_fees(rpc, made):
    details = rpc("ots_getBlockDetails", 2)
    block = rpc("eth_getBlockByNumber", "0x2", False)
    receipts = rpc("eth_getBlockReceipts", "0x2")

    del block["transactions"]
    assert details["block"] == {
        **block, "logsBloom": None, "transactionCount": len(made.sent), "totalDifficulty": "0x0",
    }  # fmt: skip
    assert details["issuance"] == {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"}
    assert int(details["totalFees"], 16) == sum(
        int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16) for receipt in receipts
    )
    assert rpc("ots_getBlockDetailsByHash", hexed(made.block.hash)) == details


def test_an_unknown_block_has_no_details(rpc, made):
    assert rpc("ots_getBlockDetails", 99) is None
    assert rpc("ots_getBlockDetailsByHash", NOWHERE) is None
    assert rpc("ots_getBlockTransactions", 99, 0, 10) is None


def test_block_transactions_are_paged_from_the_first(rpc, made):
    page = rpc("ots_getBlockTransactions", 2, 1, 5)
    whole = rpc("eth_getBlockByNumber", "0x2", True)
    receipts = rpc("eth_getBlockReceipts", "0x2")

    assert page["fullblock"]["transactions"] == whole["transactions"][5:10]
    assert page["fullblock"]["transactionCount"] == len(made.sent)
    assert page["receipts"] == [
        {**receipt, "logs": None, "logsBloom": None, "timestamp": int(whole["timestamp"], 16)}
        for receipt in receipts[5:10]
    ]


@pytest.mark.parametrize("page", [(99, 5), (0, 0), (2**63, 2**63)])
def test_a_page_beyond_the_last_is_empty(rpc, made, page):
    found = rpc("ots_getBlockTransactions", 2, *page)

    assert (found["fullblock"]["transactions"], found["receipts"]) == ([], [])


def test_a_reverted_transaction_has_an_error(rpc, made):
    assert rpc("ots_getTransactionError", made.hash("revert")) == hexed(made.sent["revert"].data)
    assert rpc("ots_getTransactionError", made.hash("inner_revert")) == "0x"
    assert rpc("ots_getTransactionError", made.hash("out_of_gas")) == "0x"


def test_a_transaction_that_worked_is_not_executed_for_its_error(rpc, made, engine):
    assert rpc("ots_getTransactionError", made.hash("count")) == "0x"
    assert engine.blocks == []


def test_internal_operations_are_those_inside_a_transaction(rpc, made):
    assert rpc("ots_getInternalOperations", made.hash("transfer")) == []
    assert rpc("ots_getInternalOperations", made.hash("count_again")) == []
    assert rpc("ots_getInternalOperations", made.hash("create")) == [
        {"type": 3, "from": hexed(ADDRESSES["factory"]), "to": hexed(CREATED), "value": "0x9"}
    ]
    assert rpc("ots_getInternalOperations", made.hash("pay_and_destroy")) == [
        {"type": 0, "from": hexed(ADDRESSES["proxy"]), "to": hexed(CREATED), "value": "0x3"},
        {"type": 1, "from": hexed(CREATED), "to": hexed(RECIPIENT), "value": "0xc"},
    ]


def test_a_transactions_calls_are_a_flat_list(rpc, made):
    listed = rpc("ots_traceTransaction", made.hash("pay_and_destroy"))

    assert [(item["type"], item["depth"]) for item in listed] == [
        ("CALL", 0), ("CALL", 1), ("SELFDESTRUCT", 2),
    ]  # fmt: skip
    (called, delegated) = rpc("ots_traceTransaction", made.hash("delegate"))
    assert called["value"] == "0x0"
    assert (delegated["type"], delegated["value"]) == ("DELEGATECALL", None)
    (alone,) = rpc("ots_traceTransaction", made.hash("precompile"))
    assert alone["to"] == hexed(ADDRESSES["proxy"])


@pytest.mark.parametrize(
    "method",
    ["ots_getTransactionError", "ots_getInternalOperations", "ots_traceTransaction"],
)
def test_an_unknown_transaction_is_an_error(rpc, made, method):
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, NOWHERE)
    assert (refusal.value.code, refusal.value.message) == (-32000, "transaction not found")


def test_a_transaction_is_found_by_sender_and_nonce(rpc, made):
    for name, sent in made.sent.items():
        found = rpc("ots_getTransactionBySenderAndNonce", hexed(SENDER), sent.nonce)
        assert found == made.hash(name)
    assert rpc("ots_getTransactionBySenderAndNonce", hexed(SENDER), 10_000) is None
    assert rpc("ots_getTransactionBySenderAndNonce", hexed(RECIPIENT), 0) is None


def test_nonce_used_by_a_creation_has_no_transaction(rpc, made):
    factory = hexed(ADDRESSES["factory"])

    assert int(rpc("eth_getTransactionCount", factory, "latest"), 16) == 2
    assert rpc("ots_getTransactionBySenderAndNonce", factory, 1) is None
