"""Receipts as values, and the bytes of them that the receipts root commits to.

What RPC shows besides (block, index, effective price) comes from the rows, not from here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks import bloom
from cchain_app.evm.engine import Log, TransactionResult
from cchain_app.txs.transaction import LEGACY
from primitives import rlp
from primitives.evm import Hash

_ADDRESS_PREFIX: Final = rlp.encode_bytes(bytes(20))[:1]
_TOPIC_PREFIX: Final = rlp.encode_bytes(bytes(32))[:1]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a block says of one of its transactions."""

    type: int
    """Of the transaction."""
    succeeded: bool
    cumulative_gas_used: int
    """Of the block, up to and with this transaction."""
    bloom: int
    """Of `logs`; as bytes see `bloom.to_bytes`."""
    logs: tuple[Log, ...]
    state_root: Hash | None = None
    """Before Byzantium: of the state after the transaction, in the place of its status."""


def make_receipts(
    outcomes: Iterable[tuple[int, TransactionResult]], state_roots: Sequence[Hash] = ()
) -> tuple[Receipt, ...]:
    """Return the receipts of a block, in its order.

    Args:
        outcomes: Type and result of each transaction.
        state_roots: Before Byzantium: of the states after each of them.
    """
    receipts = []
    cumulative_gas_used = 0
    for index, (type_, result) in enumerate(outcomes):
        cumulative_gas_used += result.gas_used
        receipts.append(
            Receipt(
                type=type_,
                succeeded=result.succeeded,
                cumulative_gas_used=cumulative_gas_used,
                bloom=bloom.bloom_of(result.logs),
                logs=result.logs,
                state_root=state_roots[index] if state_roots else None,
            )
        )
    return tuple(receipts)


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the envelope of EIP-2718: the type byte, unless it is 0, and the RLP."""
    payload = rlp.encode_list(
        (
            _encode_outcome(receipt),
            rlp.encode_uint(receipt.cumulative_gas_used),
            rlp.encode_bytes(bloom.to_bytes(receipt.bloom)),
            _encode_logs(receipt.logs),
        )
    )
    return payload if receipt.type == LEGACY else bytes((receipt.type,)) + payload


def _encode_outcome(receipt: Receipt) -> bytes:
    if receipt.state_root is None:
        return rlp.encode_uint(receipt.succeeded)
    return rlp.encode_bytes(receipt.state_root)


def _encode_logs(logs: Iterable[Log]) -> bytes:
    """Return the list of logs, each a list of address, topics and data. A block may have thousands of them.

    What stands before the address and before the topics follows from how many topics and how much data there are.
    """
    parts: list[bytes] = []
    known: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    for address, topics, content in logs:
        data = rlp.encode_bytes(content)
        sizes = len(topics), len(data)
        prefixes = known.get(sizes)
        if prefixes is None:
            prefixes = known[sizes] = _log_prefixes(*sizes)
        before_address, before_topics = prefixes
        parts += before_address, address, _TOPIC_PREFIX.join((before_topics, *topics)), data
    return rlp.encode_list(parts)


def _log_prefixes(topics: int, data: int) -> tuple[bytes, bytes]:
    """Return what stands before the address and before the topics of a log.

    Args:
        topics: How many.
        data: Bytes of the encoded data.
    """
    size = topics * (len(_TOPIC_PREFIX) + 32)
    before_topics = rlp.list_prefix(size)
    rest = len(_ADDRESS_PREFIX) + 20 + len(before_topics) + size + data
    return rlp.list_prefix(rest) + _ADDRESS_PREFIX, before_topics
