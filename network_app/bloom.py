"""Bloom filters: what a peer knows already, so that it is not told again (p2p.md 5.3). Pure.

What is put in, and when a filter is made anew, is the business of `network_app.gossip`.

BloomError
├── InvalidHashCount   none, or more than 16
├── TooFewEntries      ends before the first byte of entries
└── SaltTooLong        more than 32 bytes
"""

import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from primitives.hashing import sha256

MAX_HASHES = 16
SEED_SIZE = 8
SALT_SIZE = 32
"""Bytes of our own salts; a peer's are at most as long."""

_ROTATION = 17
_MASK = (1 << 64) - 1


class BloomError(Exception):
    """Bytes that are no filter."""


class InvalidHashCount(BloomError):
    """A number of hash functions that no filter has."""

    def __init__(self, count: int) -> None:
        super().__init__(f"bloom filter has {count} hashes, not 1 to {MAX_HASHES}")
        self.count = count


class TooFewEntries(BloomError):
    """A filter without a bit."""

    def __init__(self) -> None:
        super().__init__("bloom filter has no entries")


class SaltTooLong(BloomError):
    """A salt of more bytes than peers use."""

    def __init__(self, size: int) -> None:
        super().__init__(f"bloom filter has a salt of {size} bytes, more than {SALT_SIZE}")
        self.size = size


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A finished filter, asked with `key in filter`; `SaltedBloom` is one that grows."""

    seeds: tuple[int, ...]
    """One of 64 bits for each hash function, 1 to 16."""
    entries: bytes
    salt: bytes = b""
    """It travels beside the filter, not in it."""

    @classmethod
    def parse(cls, raw: bytes, salt: bytes = b"") -> Self:
        """Read a filter as peers send it.

        Raises:
            BloomError: It is none.
        """
        if len(salt) > SALT_SIZE:
            raise SaltTooLong(len(salt))
        count = raw[0] if raw else 0
        if not 1 <= count <= MAX_HASHES:
            raise InvalidHashCount(count)
        entries_at = 1 + count * SEED_SIZE
        if len(raw) <= entries_at:
            raise TooFewEntries
        seeds = (raw[at : at + SEED_SIZE] for at in range(1, entries_at, SEED_SIZE))
        return cls(tuple(int.from_bytes(seed, "big") for seed in seeds), raw[entries_at:], salt)

    def __bytes__(self) -> bytes:
        """Return the filter as it is sent."""
        seeds = b"".join(seed.to_bytes(SEED_SIZE, "big") for seed in self.seeds)
        return bytes([len(self.seeds)]) + seeds + self.entries

    def __contains__(self, key: bytes) -> bool:
        return self.contains(key)

    def contains(self, key: bytes) -> bool:
        """Say whether a key may have been added; one that was is never missed."""
        return contains_hash(self.entries, self.seeds, key_hash(key, self.salt))


def key_hash(key: bytes, salt: bytes) -> int:
    """Return the 64 bits of a key that the hash functions begin with."""
    return int.from_bytes(sha256(key + salt)[:8], "big")


def contains_hash(entries: bytes | bytearray, seeds: Sequence[int], hashed: int) -> bool:
    """Say whether all bits of a key's hash are set."""
    return all(entries[at] & mask for at, mask in _bits(len(entries), seeds, hashed))


def add_hash(entries: bytearray, seeds: Sequence[int], hashed: int) -> bool:
    """Set all bits of a key's hash; say whether one of them was not set."""
    changed = False
    for at, mask in _bits(len(entries), seeds, hashed):
        changed = changed or not entries[at] & mask
        entries[at] |= mask
    return changed


EMPTY = BloomFilter(seeds=(0,), entries=bytes(1))
"""It contains nothing."""


class Parameters(NamedTuple):
    """How large a filter is."""

    hashes: int
    entries: int
    """Bytes."""


def optimal_parameters(expected: int, rate: float) -> Parameters:
    """Return the size of a filter that answers wrongly at this rate once it has as many keys.

    The number of keys is at least 1, the rate between 0 and 1.
    """
    bits = -expected * math.log(rate) / math.log(2) ** 2
    entries = max(1, math.floor((bits + 7) / 8))
    hashes = math.ceil(entries * 8 * math.log(2) / expected)
    return Parameters(min(max(hashes, 1), MAX_HASHES), entries)


def capacity(parameters: Parameters, rate: float) -> int:
    """Return the largest number of keys at which a filter's rate is not above this one."""
    most_set = rate ** (1 / parameters.hashes)
    unset_by_a_key = parameters.hashes * math.log1p(-1 / (parameters.entries * 8))
    return math.floor(math.log1p(-most_set) / unset_by_a_key)


@dataclass(slots=True)
class SaltedBloom:
    """A filter of our own that grows, with random seeds and salt."""

    expected: int
    """How many keys it is made for, at least 1."""
    target_rate: float
    """How often it may be wrong with that many keys, between 0 and 1."""
    max_rate: float
    """How often it may be wrong before it has to be made anew."""
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SALT_SIZE))
    count: int = field(default=0, init=False)
    """Keys that were added and not in it."""
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
        """Whether one more key would push the rate above the largest: make another one."""
        return self.count >= self._capacity

    def add(self, key: bytes) -> bool:
        """Put a key in; say whether it was not in it. A full filter takes keys too."""
        added = add_hash(self._entries, self._seeds, key_hash(key, self.salt))
        self.count += added
        return added

    def __contains__(self, key: bytes) -> bool:
        return contains_hash(self._entries, self._seeds, key_hash(key, self.salt))

    def finished(self) -> BloomFilter:
        """Return the filter as it is now."""
        return BloomFilter(self._seeds, bytes(self._entries), self.salt)

    def marshal(self) -> tuple[bytes, bytes]:
        """Return filter and salt as they are sent."""
        return bytes(self.finished()), self.salt


def _bits(size: int, seeds: Sequence[int], hashed: int) -> Iterator[tuple[int, int]]:
    """Return the place and the mask of each of a hash's bits among so many bytes."""
    for seed in seeds:
        hashed = ((hashed << _ROTATION | hashed >> 64 - _ROTATION) & _MASK) ^ seed
        bit = hashed % (size * 8)
        yield bit >> 3, 1 << (bit & 7)
