"""Receipts as values, and the bytes of them that the receipts root commits to.

What RPC shows besides (block, index, effective price) comes from the rows, not from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cchain_app.blocks import bloom
from cchain_app.evm.engine import Log, TransactionResult
from cchain_app.txs.transaction import LEGACY
from primitives import rlp


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a block says of one of its transactions (Byzantium and later: a status, no root)."""

    type: int
    """Of the transaction."""
    succeeded: bool
    cumulative_gas_used: int
    """Of the block, up to and with this transaction."""
    bloom: int
    """Of `logs`; as bytes see `bloom.to_bytes`."""
    logs: tuple[Log, ...]


def make_receipts(outcomes: Iterable[tuple[int, TransactionResult]]) -> tuple[Receipt, ...]:
    """Return the receipts of a block from its transactions' types and results, in block order."""
    receipts = []
    cumulative_gas_used = 0
    for type_, result in outcomes:
        cumulative_gas_used += result.gas_used
        receipts.append(
            Receipt(
                type=type_,
                succeeded=result.succeeded,
                cumulative_gas_used=cumulative_gas_used,
                bloom=bloom.bloom_of(result.logs),
                logs=result.logs,
            )
        )
    return tuple(receipts)


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the envelope of EIP-2718: the type byte, unless it is 0, and the RLP."""
    payload = rlp.encode_list(
        (
            rlp.encode_uint(receipt.succeeded),
            rlp.encode_uint(receipt.cumulative_gas_used),
            rlp.encode_bytes(bloom.to_bytes(receipt.bloom)),
            rlp.encode_list(map(_encode_log, receipt.logs)),
        )
    )
    return payload if receipt.type == LEGACY else bytes((receipt.type,)) + payload


def _encode_log(log: Log) -> bytes:
    topics = rlp.encode_list(map(rlp.encode_bytes, log.topics))
    return rlp.encode_list((rlp.encode_bytes(log.address), topics, rlp.encode_bytes(log.data)))
