"""eth_sendRawTransaction and its synchronous form: pool submissions and results."""

import json
import threading
from types import SimpleNamespace

import pytest

from cchain_app.api import registry
from cchain_app.api.eth import transactions as eth_transactions
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.services import transactions
from cchain_app.txs.transaction import InvalidTransaction, TransactionReason
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from tests.builders.transactions import signed


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def submitted(monkeypatch):
    """The envelopes of each call of the service; `short` and `low` are rejected."""
    seen: list[list[bytes]] = []

    def submit(_chain, raws):
        seen.append(list(raws))
        fates = {
            b"short": InvalidTransaction(TransactionReason.TOO_SHORT),
            b"low": PoolRejection(PoolReason.NONCE_TOO_LOW, next_nonce=5, nonce=3),
        }
        return [fates.get(raw, bytes(31) + raw[-1:]) for raw in raws]

    monkeypatch.setattr(transactions, "submit", submit)
    return seen


def test_send_raw_transaction_returns_the_hash(rpc, submitted):
    assert rpc("eth_sendRawTransaction", "0x0203") == "0x" + "00" * 31 + "03"
    assert submitted == [[b"\x02\x03"]]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"short", "typed transaction too short"),
        (b"low", "nonce too low: next nonce 5, tx nonce 3"),
    ],
)
def test_rejection_has_code_32000_and_its_message(rpc, submitted, raw, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", hexed(raw))
    assert (failure.value.code, failure.value.message) == (-32000, words)


def test_invalid_hex_is_a_bad_argument(rpc, submitted):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", "02")
    assert (failure.value.code, failure.value.message) == (
        -32602,
        "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of "
        "type hexutil.Bytes",
    )


def test_a_batch_is_submitted_at_once_and_each_call_has_its_own_fate(submitted):
    sent = [b"\x01", b"low", b"\x02"]
    body = [
        {"jsonrpc": "2.0", "id": n, "method": "eth_sendRawTransaction", "params": [hexed(raw)]}
        for n, raw in enumerate(sent)
    ]
    answers = json.loads(
        Dispatcher(registry(this_node().evm_rpc)).answer(json.dumps(body).encode())
    )
    assert submitted == [sent]
    assert [("result" in answer, answer["id"]) for answer in answers] == [
        (True, 0),
        (False, 1),
        (True, 2),
    ]


def test_waiting_for_a_receipt_returns_it(rpc, memory_chain, monkeypatch):
    sent = signed()
    monkeypatch.setattr(transactions, "submit", lambda _chain, _raws: [sent.hash])
    memory_chain.accept(sent)
    receipt = rpc("eth_sendRawTransactionSync", hexed(sent.raw))
    assert receipt == rpc("eth_getTransactionReceipt", hexed(sent.hash))


def test_waiting_ends_with_code_4_and_the_hash(rpc, memory_chain, monkeypatch):
    sent = signed()
    monkeypatch.setattr(transactions, "submit", lambda _chain, _raws: [sent.hash])
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransactionSync", hexed(sent.raw), 10)
    assert (failure.value.code, failure.value.data) == (4, hexed(sent.hash))
    assert failure.value.message == (
        "The transaction was added to the pool but wasn't processed within 0.01s"
    )


def test_a_refused_transaction_is_not_waited_for(rpc, submitted):
    with pytest.raises(JsonRpcError, match="nonce too low"):
        rpc("eth_sendRawTransactionSync", hexed(b"low"))


def test_receipt_wait_is_limited_to_one_minute(rpc, memory_chain, monkeypatch):
    clock = iter([0.0, 59.9, 60.0])
    still = SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _seconds: None)
    monkeypatch.setattr(eth_transactions, "time", still)
    with pytest.raises(JsonRpcError, match="within 60s"):
        eth_transactions.wait_for_receipt(this_node().evm_rpc, signed().hash, 10**9)


def test_number_of_calls_waiting_for_receipts_is_limited(rpc, submitted, monkeypatch):
    monkeypatch.setattr(this_node().evm_rpc, "sync_calls", threading.BoundedSemaphore(1))
    this_node().evm_rpc.sync_calls.acquire()
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransactionSync", "0x01")
    assert (failure.value.code, failure.value.message) == (
        -32005, "too many calls wait for receipts",
    )  # fmt: skip
    assert submitted == []
