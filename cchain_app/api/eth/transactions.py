"""Transactions and receipts, the sending of signed transactions, and the completion of unsigned ones."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Raw

from cchain_app.api import block_tags, wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth import execution, execution_gas
from cchain_app.api.eth.blobs import with_blobs
from cchain_app.api.eth.fees import next_base_fee, suggested_tip
from cchain_app.api.params.values import BlockHash, BlockNumber
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blocks, pool, state_search
from cchain_app.services import transactions
from cchain_app.txs.blobs import SentTransaction, join
from cchain_app.txs.request import CallRequest, unsigned
from cchain_app.txs.transaction import ACCESS_LIST, LEGACY, Transaction
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError
from primitives.evm import Address, Hash
from primitives.hexadecimal import decode_quantity, encode_data

RECEIPT_NOT_READY: Final = 4
"""Code of eth_sendRawTransactionSync when its waiting time is over."""

SYNC_SECONDS: Final = 20.0
SYNC_SECONDS_AT_MOST: Final = 60.0
SYNC_PAUSE: Final = 0.02
"""Seconds between two checks for the receipt: about the time that making a block takes."""


def get_transaction_by_hash(rpc: EvmRpc, transaction_hash: Hash) -> Raw | wire.Json | None:
    """eth_getTransactionByHash: a transaction in a block or in the pool, else null."""
    epoch = rpc.epoch
    pending = pool.find(rpc.chain, transaction_hash)
    if isinstance(pending, Transaction):
        return rpc.pool_transaction(pending)
    if pending is None:
        return None
    block, index = pending
    rendered = rpc.rendered.of(block).transaction(index)
    return rpc.keep_by_hash(epoch, "eth_getTransactionByHash", transaction_hash, rendered)


def get_transaction_by_sender_and_nonce(
    rpc: EvmRpc, sender: Address, nonce: int
) -> Raw | wire.Json | None:
    """eth_getTransactionBySenderAndNonce: a sender's transaction in a block or in the pool, else null."""
    found = state_search.find_by_nonce(rpc.chain, sender, nonce)
    if found is not None:
        block, index = found
        return rpc.rendered.of(block).transaction(index)
    waiting = pool.content(rpc.chain, [sender])
    listed = [*waiting.pending.get(sender, ()), *waiting.queued.get(sender, ())]
    pending = next((item for item in listed if item.nonce == nonce), None)
    return None if pending is None else rpc.pool_transaction(pending)


def get_transaction_receipt(rpc: EvmRpc, transaction_hash: Hash) -> Raw | None:
    """eth_getTransactionReceipt: the receipt of a transaction, null until it is in a block."""
    epoch = rpc.epoch
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is None:
        return None
    block, index = found
    rendered = rpc.rendered.of(block).receipt(index)
    return rpc.keep_by_hash(epoch, "eth_getTransactionReceipt", transaction_hash, rendered)


def get_transaction_by_number_and_index(rpc: EvmRpc, number: BlockNumber, index: int) -> Raw | None:
    """eth_getTransactionByBlockNumberAndIndex: a transaction by its index in a block, else null."""
    return _at(rpc, block_tags.find(rpc, number), index)


def get_transaction_by_hash_and_index(rpc: EvmRpc, block_hash: Hash, index: int) -> Raw | None:
    """eth_getTransactionByBlockHashAndIndex: a transaction by its index in a block, else null."""
    return _at(rpc, block_tags.find(rpc, BlockHash(block_hash)), index)


def get_raw_transaction(rpc: EvmRpc, transaction_hash: Hash) -> str:
    """eth_getRawTransactionByHash and debug_getRawTransaction: the envelope of a transaction as it was sent.

    Unspecified: for an unknown transaction the result is `0x`, as in geth.
    """
    pending = pool.find(rpc.chain, transaction_hash)
    if pending is None:
        return encode_data(b"")
    transaction = (
        pending if isinstance(pending, Transaction) else pending[0].transactions[pending[1]]
    )
    return encode_data(transaction.raw)


def get_raw_transaction_by_number_and_index(rpc: EvmRpc, number: BlockNumber, index: int) -> str:
    """eth_getRawTransactionByBlockNumberAndIndex: a transaction's envelope, `0x` if there is no such transaction."""
    return _raw_at(block_tags.find(rpc, number), index)


def get_raw_transaction_by_hash_and_index(rpc: EvmRpc, block_hash: Hash, index: int) -> str:
    """eth_getRawTransactionByBlockHashAndIndex: a transaction's envelope, `0x` if there is no such transaction."""
    return _raw_at(block_tags.find(rpc, BlockHash(block_hash)), index)


def send_raw_transactions(rpc: EvmRpc, calls: Sequence[tuple[bytes]]) -> list[Any]:
    """eth_sendRawTransaction: add a signed transaction to the pool, and return its hash.

    The calls of a batch are added together; each returns its hash, or its own error.

    Raises:
        InvalidTransaction: The transaction cannot be decoded, or is not signed for this chain.
        PoolRejection: The pool rejects the transaction, for the reason in the message.
    """
    outcomes = transactions.submit(rpc.runtime, [raw for (raw,) in calls])
    return [
        outcome if isinstance(outcome, Exception) else encode_data(outcome) for outcome in outcomes
    ]


def send_raw_transaction_sync(rpc: EvmRpc, raw: bytes, milliseconds: int | None) -> Raw:
    """eth_sendRawTransactionSync: send a transaction and wait for its receipt.

    Unspecified: the call waits 20 s unless it names another time, and never more than a minute. The number of
    waiting calls is limited, because each of them occupies a thread.

    Raises:
        JsonRpcError: 4, the transaction was not mined in that time, and stays in the pool; -32005,
            too many calls wait already, and the transaction was not sent.
    """

    def send() -> Hash:
        (sent,) = transactions.submit(rpc.runtime, [raw])
        if isinstance(sent, Exception):
            raise sent
        return sent

    return receipt_in_turn(rpc, send, milliseconds)


def receipt_in_turn(rpc: EvmRpc, send: Callable[[], Hash], milliseconds: int | None) -> Raw:
    """Send a transaction and wait for its receipt, unless too many calls are waiting already.

    Args:
        rpc: The chain's RPC context.
        send: Sends the transaction, and returns its hash.
        milliseconds: The time to wait; None for the default.

    Raises:
        JsonRpcError: 4, the transaction was not mined in that time; -32005, too many calls wait, and it was not sent.
    """
    if not rpc.sync_calls.acquire(blocking=False):
        raise JsonRpcError(LIMIT_EXCEEDED, "too many calls wait for receipts")
    try:
        seconds = SYNC_SECONDS if milliseconds is None else milliseconds / 1000
        return wait_for_receipt(rpc, send(), seconds)
    finally:
        rpc.sync_calls.release()


def wait_for_receipt(rpc: EvmRpc, transaction_hash: Hash, seconds: float) -> Raw:
    """Return the receipt of a transaction as soon as it is in a block.

    Raises:
        JsonRpcError: 4, the transaction was not mined within these seconds, or within a minute.
    """
    seconds = min(seconds, SYNC_SECONDS_AT_MOST)
    deadline = time.monotonic() + seconds
    while (receipt := get_transaction_receipt(rpc, transaction_hash)) is None:
        if time.monotonic() >= deadline:
            raise JsonRpcError(
                RECEIPT_NOT_READY,
                f"The transaction was added to the pool but wasn't processed within {seconds:g}s",
                encode_data(transaction_hash),
            )
        time.sleep(SYNC_PAUSE)
    return receipt


def _at(rpc: EvmRpc, block: AcceptedBlock | None, index: int) -> Raw | None:
    if block is None or index >= len(block.transactions):
        return None
    return rpc.rendered.of(block).transaction(index)


def _raw_at(block: AcceptedBlock | None, index: int) -> str:
    if block is None or index >= len(block.transactions):
        return encode_data(b"")
    return encode_data(block.transactions[index].raw)


def fill_transaction(rpc: EvmRpc, request: CallRequest) -> dict[str, Any]:
    """eth_fillTransaction: a transaction with nonce, fees, gas and chain ID, and its bytes without a signature.

    Unspecified: the fee cap is twice the next block's base fee plus the suggested tip. The gas is the result of
    eth_estimateGas for the call with these fees, so the sender must be able to pay them. Commitments and proofs of
    blobs are computed if they are missing, and the fee cap of blob gas is twice its base fee.

    Raises:
        InvalidTransaction: It has blobs, and the chain takes none.
        JsonRpcError: -32000, the fees contradict each other, it is for another chain, it creates nothing, its blobs do
            not belong to it, or it fails; 3, it reverts.
    """
    request, sidecar = with_blobs(rpc, request)
    priced, gas = with_fees_and_gas(rpc, request)
    chain_id, nonce = rpc.chain.config.chain_id, next_nonce(rpc, priced)
    transaction = unsigned(priced, chain_id=chain_id, nonce=nonce, gas=gas)
    raw = join(SentTransaction(transaction.raw, sidecar))
    fields = wire.unsigned_transaction(transaction)
    if sidecar is not None:
        fields |= wire.sidecar(sidecar)
    return {"raw": encode_data(raw), "tx": fields}


def with_fees_and_gas(rpc: EvmRpc, request: CallRequest) -> tuple[CallRequest, int]:
    """Return a request with all fees set, and its gas limit. Raises as `fill_transaction`."""
    execution.check_request(rpc, request)
    if request.to is None and not request.data:
        raise server_error("contract creation without any data provided")
    priced = _with_fees(rpc, request)
    gas = request.gas
    if gas is None:
        estimate = execution_gas.estimate_gas(rpc, priced, None, None, None)
        gas = decode_quantity(estimate, 64)
    return priced, gas


def next_nonce(rpc: EvmRpc, request: CallRequest) -> int:
    """Return the requested nonce, else the nonce after the sender's pending transactions."""
    if request.nonce is not None:
        return request.nonce
    return pool.next_nonce(rpc.chain, request.sender)


def _with_fees(rpc: EvmRpc, request: CallRequest) -> CallRequest:
    if request.gas_price is not None:
        return request
    tip, cap = request.max_priority_fee_per_gas, request.max_fee_per_gas
    if request.wanted_type in {LEGACY, ACCESS_LIST}:
        return request._replace(gas_price=suggested_tip(rpc) + next_base_fee(rpc))
    if tip is None:
        tip = suggested_tip(rpc) if cap is None else min(suggested_tip(rpc), cap)
    if cap is None:
        cap = tip + 2 * next_base_fee(rpc)
    if cap < tip:
        raise server_error(f"maxFeePerGas ({cap}) < maxPriorityFeePerGas ({tip})")
    return request._replace(max_fee_per_gas=cap, max_priority_fee_per_gas=tip)
