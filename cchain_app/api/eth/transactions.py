"""Transactions and receipts, and how a signed transaction gets in."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Raw

from cchain_app.api import block_tags, wire
from cchain_app.api.params.values import BlockHash, BlockNumber
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blocks, nonces, pool
from cchain_app.services import transactions
from cchain_app.txs.transaction import Transaction
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError
from primitives.evm import Address, Hash
from primitives.hexadecimal import encode_data

RECEIPT_NOT_READY: Final = 4
"""Code of eth_sendRawTransactionSync when it gave up waiting."""

SYNC_SECONDS: Final = 20.0
SYNC_SECONDS_AT_MOST: Final = 60.0
SYNC_PAUSE: Final = 0.02
"""Seconds between two looks for the block: as many as a block takes to be made."""


def get_transaction_by_hash(rpc: EvmRpc, transaction_hash: Hash) -> Raw | wire.Json | None:
    """eth_getTransactionByHash: a transaction of a block or of the pool, else null."""
    epoch = rpc.epoch
    found = pool.find(rpc.chain, transaction_hash)
    if isinstance(found, Transaction):
        return wire.waiting_transaction(found)
    if found is None:
        return None
    block, index = found
    rendered = rpc.rendered.of(block).transaction(index)
    return rpc.keep_by_hash(epoch, "eth_getTransactionByHash", transaction_hash, rendered)


def get_transaction_by_sender_and_nonce(
    rpc: EvmRpc, sender: Address, nonce: int
) -> Raw | wire.Json | None:
    """eth_getTransactionBySenderAndNonce: a sender's transaction of a block or of the pool, else null."""
    place = nonces.find_by_nonce(rpc.chain, sender, nonce)
    if place is not None:
        block, index = place
        return rpc.rendered.of(block).transaction(index)
    waiting = pool.content(rpc.chain, [sender])
    listed = [*waiting.pending.get(sender, ()), *waiting.queued.get(sender, ())]
    found = next((one for one in listed if one.nonce == nonce), None)
    return None if found is None else wire.waiting_transaction(found)


def get_transaction_receipt(rpc: EvmRpc, transaction_hash: Hash) -> Raw | None:
    """eth_getTransactionReceipt: what became of a transaction, null until it is in a block."""
    epoch = rpc.epoch
    place = blocks.find_transaction(rpc.chain, transaction_hash)
    if place is None:
        return None
    block, index = place
    rendered = rpc.rendered.of(block).receipt(index)
    return rpc.keep_by_hash(epoch, "eth_getTransactionReceipt", transaction_hash, rendered)


def get_transaction_by_number_and_index(rpc: EvmRpc, number: BlockNumber, index: int) -> Raw | None:
    """eth_getTransactionByBlockNumberAndIndex: a transaction by its place in a block, else null."""
    return _at(rpc, block_tags.find(rpc, number), index)


def get_transaction_by_hash_and_index(rpc: EvmRpc, block_hash: Hash, index: int) -> Raw | None:
    """eth_getTransactionByBlockHashAndIndex: a transaction by its place in a block, else null."""
    return _at(rpc, block_tags.find(rpc, BlockHash(block_hash)), index)


def get_raw_transaction(rpc: EvmRpc, transaction_hash: Hash) -> str:
    """eth_getRawTransactionByHash and debug_getRawTransaction: the envelope as it was sent.

    Unspecified: for an unknown transaction it is `0x`, as in geth.
    """
    found = pool.find(rpc.chain, transaction_hash)
    if found is None:
        return encode_data(b"")
    transaction = found if isinstance(found, Transaction) else found[0].transactions[found[1]]
    return encode_data(transaction.raw)


def get_raw_transaction_by_number_and_index(rpc: EvmRpc, number: BlockNumber, index: int) -> str:
    """eth_getRawTransactionByBlockNumberAndIndex: the envelope, `0x` when there is none."""
    return _raw_at(block_tags.find(rpc, number), index)


def get_raw_transaction_by_hash_and_index(rpc: EvmRpc, block_hash: Hash, index: int) -> str:
    """eth_getRawTransactionByBlockHashAndIndex: the envelope, `0x` when there is none."""
    return _raw_at(block_tags.find(rpc, BlockHash(block_hash)), index)


def send_raw_transactions(rpc: EvmRpc, calls: Sequence[tuple[bytes]]) -> list[Any]:
    """eth_sendRawTransaction: bring a signed transaction to the pool; its hash.

    Calls of a batch come together; for each its hash, or why it was refused.

    Raises:
        InvalidTransaction: It cannot be read, or is not signed for this chain.
        PoolRejection: The pool does not take it, and says why.
    """
    outcomes = transactions.submit(rpc.chain, [raw for (raw,) in calls])
    return [one if isinstance(one, Exception) else encode_data(one) for one in outcomes]


def send_raw_transaction_sync(rpc: EvmRpc, raw: bytes, milliseconds: int | None) -> Raw:
    """eth_sendRawTransactionSync: send a transaction and wait for its receipt.

    Unspecified: waits 20 s unless another time is given, and never more than a minute. Only so
    many calls wait at a time, since each of them holds a thread.

    Raises:
        JsonRpcError: 4, there was no block with it in that time, and it stays in the pool; -32005,
            too many calls wait already, and it was not sent.
    """

    def send() -> Hash:
        (sent,) = transactions.submit(rpc.chain, [raw])
        if isinstance(sent, Exception):
            raise sent
        return sent

    return receipt_in_turn(rpc, send, milliseconds)


def receipt_in_turn(rpc: EvmRpc, send: Callable[[], Hash], milliseconds: int | None) -> Raw:
    """Send a transaction and wait for its receipt, unless too many calls do so already.

    Args:
        rpc: The door.
        send: Sends it, and returns its hash.
        milliseconds: How long to wait; None: as long as usual.

    Raises:
        JsonRpcError: 4, there was no block with it in that time; -32005, too many wait, and it was not sent.
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
        JsonRpcError: 4, it was in none after so many seconds, or after a minute.
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
