"""The 2048-bit bloom filter of a block's or receipt's logs. As an `int`: union is |, test is &.

Each address and topic sets three bits, taken from the first three 16-bit pairs of its Keccak-256
hash, each modulo 2048 and counted from the right end (yellow paper, 4.3.1).
"""

from collections.abc import Iterable
from functools import lru_cache

from cchain_app.evm.engine import Log
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
    return merge(map(bloom_bits, items))


def merge(blooms: Iterable[int]) -> int:
    """Return the union: a block's bloom from its receipts'."""
    union = 0
    for bloom in blooms:
        union |= bloom
    return union


def may_contain(bloom: int, item: bytes) -> bool:
    """Return whether an address or topic may be in the logs; False is certain, True is not."""
    bits = bloom_bits(item)
    return bloom & bits == bits


def to_bytes(bloom: int) -> bytes:
    """Return the 256 bytes that a header or receipt contains."""
    return bloom.to_bytes(BLOOM_BYTE_LENGTH, "big")


def from_bytes(data: bytes) -> int:
    """Read the 256 bytes of a header or receipt."""
    return int.from_bytes(data, "big")
