"""Bloom filters of the claims that a peer already knows, so that it does not receive them again (p2p.md 5.3). Pure.

`network_app.gossip` decides on the contents of filters and on when to rebuild them.
"""

import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

from primitives.hashing import sha256
from primitives.reasons import ErrorWithReason

MAX_HASHES = 16
SEED_SIZE = 8
SALT_SIZE = 32
"""Size of this node's own salts in bytes; a peer's salt must not be longer."""

_ROTATION = 17
_MASK = (1 << 64) - 1


class BloomReason(StrEnum):
    """A reason why bytes are not a valid filter."""

    HASH_COUNT = f"bloom filter has {{count}} hashes, not 1 to {MAX_HASHES}"
    NO_ENTRIES = "bloom filter has no entries"
    SALT_TOO_LONG = f"bloom filter has a salt of {{size}} bytes, more than {SALT_SIZE}"


class BloomError(ErrorWithReason):
    """Bytes that are not a valid filter."""


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """An immutable filter, queried with `key in filter`; a `SaltedBloom` can grow."""

    seeds: tuple[int, ...]
    """A 64-bit seed for each hash function, 1 to 16."""
    entries: bytes
    salt: bytes = b""
    """It is sent next to the filter, not in it."""

    @classmethod
    def parse(cls, raw: bytes, salt: bytes = b"") -> Self:
        """Parse a filter in the format of the wire.

        Raises:
            BloomError: The bytes are not a valid filter.
        """
        if len(salt) > SALT_SIZE:
            raise BloomError(BloomReason.SALT_TOO_LONG, size=len(salt))
        count = raw[0] if raw else 0
        if not 1 <= count <= MAX_HASHES:
            raise BloomError(BloomReason.HASH_COUNT, count=count)
        entries_at = 1 + count * SEED_SIZE
        if len(raw) <= entries_at:
            raise BloomError(BloomReason.NO_ENTRIES)
        seeds = (raw[at : at + SEED_SIZE] for at in range(1, entries_at, SEED_SIZE))
        return cls(tuple(int.from_bytes(seed, "big") for seed in seeds), raw[entries_at:], salt)

    def __bytes__(self) -> bytes:
        """Return the filter in the format of the wire."""
        seeds = b"".join(seed.to_bytes(SEED_SIZE, "big") for seed in self.seeds)
        return bytes([len(self.seeds)]) + seeds + self.entries

    def __contains__(self, key: bytes) -> bool:
        return self.contains(key)

    def contains(self, key: bytes) -> bool:
        """Return whether a key may have been added; an added key is always found."""
        return contains_hash(self.entries, self.seeds, key_hash(key, self.salt))


def key_hash(key: bytes, salt: bytes) -> int:
    """Return the 64-bit hash of a key, from which the hash functions start."""
    return int.from_bytes(sha256(key + salt)[:8], "big")


def contains_hash(entries: bytes | bytearray, seeds: Sequence[int], hashed: int) -> bool:
    """Return whether all bits of a key's hash are set."""
    return all(entries[at] & mask for at, mask in _bits(len(entries), seeds, hashed))


def add_hash(entries: bytearray, seeds: Sequence[int], hashed: int) -> bool:
    """Set all bits of a key's hash; return whether any of them was unset."""
    changed = False
    for at, mask in _bits(len(entries), seeds, hashed):
        changed = changed or not entries[at] & mask
        entries[at] |= mask
    return changed


EMPTY = BloomFilter(seeds=(0,), entries=bytes(1))
"""The empty filter."""


class BloomParameters(NamedTuple):
    """The size of a filter."""

    hashes: int
    entries: int
    """In bytes."""


def optimal_parameters(expected: int, rate: float) -> BloomParameters:
    """Return the size of a filter with this false positive rate at the expected number of keys.

    The number of keys is at least 1, the rate between 0 and 1.
    """
    bits = -expected * math.log(rate) / math.log(2) ** 2
    entries = max(1, math.floor((bits + 7) / 8))
    hashes = math.ceil(entries * 8 * math.log(2) / expected)
    return BloomParameters(min(max(hashes, 1), MAX_HASHES), entries)


def capacity(parameters: BloomParameters, rate: float) -> int:
    """Return the largest number of keys at which a filter's false positive rate is at most `rate`."""
    most_set = rate ** (1 / parameters.hashes)
    unset_by_a_key = parameters.hashes * math.log1p(-1 / (parameters.entries * 8))
    return math.floor(math.log1p(-most_set) / unset_by_a_key)


@dataclass(slots=True)
class SaltedBloom:
    """This node's own filter, which can grow, with random seeds and salt."""

    expected: int
    """Expected number of keys, at least 1."""
    target_rate: float
    """False positive rate at that number of keys, between 0 and 1."""
    max_rate: float
    """False positive rate above which the filter must be rebuilt."""
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SALT_SIZE))
    count: int = field(default=0, init=False)
    """Number of added keys that were not found before."""
    _seeds: tuple[int, ...] = field(init=False, repr=False)
    _entries: bytearray = field(init=False, repr=False)
    _capacity: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parameters = optimal_parameters(self.expected, self.target_rate)
        self._seeds = tuple(secrets.randbits(64) for _ in range(parameters.hashes))
        self._entries = bytearray(parameters.entries)
        self._capacity = capacity(parameters, self.max_rate)

    @property
    def full(self) -> bool:
        """Whether another key would push the rate above the maximum, so that the filter should be rebuilt."""
        return self.count >= self._capacity

    def add(self, key: bytes) -> bool:
        """Add a key; return whether it was new. A full filter still accepts keys."""
        added = add_hash(self._entries, self._seeds, key_hash(key, self.salt))
        self.count += added
        return added

    def __contains__(self, key: bytes) -> bool:
        return contains_hash(self._entries, self._seeds, key_hash(key, self.salt))

    def finished(self) -> BloomFilter:
        """Return an immutable copy of the filter."""
        return BloomFilter(self._seeds, bytes(self._entries), self.salt)

    def marshal(self) -> tuple[bytes, bytes]:
        """Return filter and salt in the format of the wire."""
        return bytes(self.finished()), self.salt


def _bits(size: int, seeds: Sequence[int], hashed: int) -> Iterator[tuple[int, int]]:
    """Yield byte index and mask of each bit of a hash in a filter of `size` bytes."""
    for seed in seeds:
        hashed = ((hashed << _ROTATION | hashed >> 64 - _ROTATION) & _MASK) ^ seed
        bit = hashed % (size * 8)
        yield bit >> 3, 1 << (bit & 7)
