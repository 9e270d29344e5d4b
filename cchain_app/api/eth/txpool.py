"""The pool as a whole: counts and contents. Single transactions are in `eth_transactions`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cchain_app.api import wire
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import pool
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address
from primitives.hexadecimal import checksum_address, encode_quantity

T = TypeVar("T")


def status(rpc: EvmRpc) -> dict[str, str]:
    """txpool_status: the number of executable transactions, and the number of queued ones."""
    pending, queued = pool.counts(rpc.chain)
    return {"pending": encode_quantity(pending), "queued": encode_quantity(queued)}


def content(rpc: EvmRpc) -> dict[str, Any]:
    """txpool_content: all transactions in the pool, by checksummed sender and decimal nonce."""
    waiting = pool.content(rpc.chain)
    return {
        "pending": _by_sender(waiting.pending, wire.waiting_transaction),
        "queued": _by_sender(waiting.queued, wire.waiting_transaction),
    }


def content_from(rpc: EvmRpc, address: Address) -> dict[str, Any]:
    """txpool_contentFrom: the transactions of one sender in the pool, by decimal nonce."""
    waiting = pool.content(rpc.chain, [address])
    return {
        "pending": _by_nonce(waiting.pending.get(address, []), wire.waiting_transaction),
        "queued": _by_nonce(waiting.queued.get(address, []), wire.waiting_transaction),
    }


def inspect(rpc: EvmRpc) -> dict[str, Any]:
    """txpool_inspect: all transactions in the pool, each as a line of text."""
    waiting = pool.content(rpc.chain)
    return {
        "pending": _by_sender(waiting.pending, wire.inspected),
        "queued": _by_sender(waiting.queued, wire.inspected),
    }


def _by_sender(
    waiting: Mapping[Address, list[Transaction]], show: Callable[[Transaction], T]
) -> dict[str, dict[str, T]]:
    return {checksum_address(sender): _by_nonce(listed, show) for sender, listed in waiting.items()}


def _by_nonce(listed: list[Transaction], show: Callable[[Transaction], T]) -> dict[str, T]:
    return {str(transaction.nonce): show(transaction) for transaction in listed}
