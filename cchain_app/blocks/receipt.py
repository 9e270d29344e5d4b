"""Receipts as values, their encoding, to which the receipts root commits, and the bloom filter of their logs.

A bloom is 2048 bits as an `int`: union is |, test is &. Each address and topic sets three bits, taken from the first
three 16-bit pairs of its Keccak-256 hash, each modulo 2048 and counted from the right end (yellow paper, 4.3.1).

The other fields that RPC returns (block, index, effective price) come from the database rows.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from cchain_app.evm.engine import Log, TransactionResult
from cchain_app.txs.transaction import LEGACY
from primitives import rlp
from primitives.evm import Hash
from primitives.hashing import keccak256

BLOOM_BYTE_LENGTH = 256
"""Bytes of a bloom in a header or receipt."""


@lru_cache(maxsize=8_192)  # entries of half a KiB; a miss takes 2 µs
def bloom_bits(item: bytes) -> int:
    """Return the bits that one address or topic sets. The same few recur in every block."""
    digest = keccak256(item)
    return (
        1 << (int.from_bytes(digest[0:2], "big") & 2047)
        | 1 << (int.from_bytes(digest[2:4], "big") & 2047)
        | 1 << (int.from_bytes(digest[4:6], "big") & 2047)
    )


def bloom_of(logs: Iterable[Log]) -> int:
    """Return the bloom of logs: their addresses and topics."""
    items: set[bytes] = set()  # few, often: the logs of a block are those of some contracts
    for log in logs:
        items.add(log.address)
        items.update(log.topics)
    return merged_bloom(map(bloom_bits, items))


def merged_bloom(blooms: Iterable[int]) -> int:
    """Return the union: a block's bloom from its receipts'."""
    union = 0
    for bloom in blooms:
        union |= bloom
    return union


def may_contain(bloom: int, item: bytes) -> bool:
    """Return whether an address or topic may be in the logs; False is certain, True is not."""
    bits = bloom_bits(item)
    return bloom & bits == bits


def bloom_to_bytes(bloom: int) -> bytes:
    """Return the 256 bytes that a header or receipt contains."""
    return bloom.to_bytes(BLOOM_BYTE_LENGTH, "big")


def bloom_from_bytes(data: bytes) -> int:
    """Read the 256 bytes of a header or receipt."""
    return int.from_bytes(data, "big")


_ADDRESS_PREFIX: Final = rlp.encode_bytes(bytes(20))[:1]
_TOPIC_PREFIX: Final = rlp.encode_bytes(bytes(32))[:1]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of one transaction of a block."""

    type: int
    """Type of the transaction."""
    succeeded: bool
    cumulative_gas_used: int
    """Gas used in the block up to and including this transaction."""
    bloom: int
    """Bloom of `logs`; as bytes see `bloom_to_bytes`."""
    logs: tuple[Log, ...]
    state_root: Hash | None = None
    """Before Byzantium: the state root after the transaction, in place of its status."""


class EncodedReceipts(NamedTuple):
    """The receipts of a block, in block order."""

    receipts: tuple[Receipt, ...]
    envelopes: list[bytes]
    """Each receipt as encoded by `encode_receipt`."""

    @property
    def bloom(self) -> bytes:
        """The bloom of all logs, as in the header."""
        return bloom_to_bytes(merged_bloom(receipt.bloom for receipt in self.receipts))


EncodeLogs = Callable[[tuple[Log, ...]], tuple[int, bytes]]
"""Returns the bloom of a receipt's logs, and the RLP of their list."""


def encode_logs(logs: tuple[Log, ...]) -> tuple[int, bytes]:
    """Return the bloom and the RLP of a receipt's logs; see `EncodeLogs`."""
    return bloom_of(logs), _logs_rlp(logs)


def select_encode_logs(*, native: bool) -> EncodeLogs:
    """Return the function that encodes logs: the crate's, or the one in Python."""
    if not native:
        return encode_logs
    # Imported here: there is no such module where the crate was not built.
    from cchain_app.evm.native import encode_logs as by_crate

    return by_crate


def make_receipts(
    outcomes: Iterable[tuple[int, TransactionResult]],
    state_roots: Sequence[Hash] = (),
    encode_logs: EncodeLogs = encode_logs,
) -> EncodedReceipts:
    """Return the receipts of a block.

    Args:
        outcomes: Type and result of each transaction.
        state_roots: Before Byzantium: the state roots after each of them.
        encode_logs: Encodes the logs of each.
    """
    receipts, envelopes = [], []
    cumulative_gas_used = 0
    for index, (type_, result) in enumerate(outcomes):
        cumulative_gas_used += result.gas_used
        logs_bloom, encoded = encode_logs(result.logs)
        receipt = Receipt(
            type=type_,
            succeeded=result.succeeded,
            cumulative_gas_used=cumulative_gas_used,
            bloom=logs_bloom,
            logs=result.logs,
            state_root=state_roots[index] if state_roots else None,
        )
        receipts.append(receipt)
        envelopes.append(_envelope(receipt, encoded))
    return EncodedReceipts(tuple(receipts), envelopes)


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the envelope of EIP-2718: the type byte, unless it is 0, and the RLP."""
    return _envelope(receipt, _logs_rlp(receipt.logs))


def _envelope(receipt: Receipt, encoded_logs: bytes) -> bytes:
    payload = rlp.encode_list(
        (
            _encode_outcome(receipt),
            rlp.encode_uint(receipt.cumulative_gas_used),
            rlp.encode_bytes(bloom_to_bytes(receipt.bloom)),
            encoded_logs,
        )
    )
    return payload if receipt.type == LEGACY else bytes((receipt.type,)) + payload


def _encode_outcome(receipt: Receipt) -> bytes:
    if receipt.state_root is None:
        return rlp.encode_uint(receipt.succeeded)
    return rlp.encode_bytes(receipt.state_root)


def _logs_rlp(logs: Iterable[Log]) -> bytes:
    """Return the list of logs, each a list of address, topics and data. A block may have thousands of them.

    The bytes before the address and before the topics depend only on the number of topics and the data size.
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
    """Return the bytes before the address and before the topics of a log.

    Args:
        topics: Number of topics.
        data: Bytes of the encoded data.
    """
    size = topics * (len(_TOPIC_PREFIX) + 32)
    before_topics = rlp.list_prefix(size)
    rest = len(_ADDRESS_PREFIX) + 20 + len(before_topics) + size + data
    return rlp.list_prefix(rest) + _ADDRESS_PREFIX, before_topics
