"""A cache of traces of accepted blocks, which never change."""

from collections.abc import Hashable
from typing import Final, NamedTuple

from primitives.bounded_cache import BoundedCache, HitCounter
from primitives.evm import Hash

LARGEST_PART: Final = 4
"""An answer larger than this part (one fourth) of the cache is not cached, because it would evict all others."""

_ENTRY: Final = 500
"""Approximate bytes of an entry besides its answer."""


class TraceKey(NamedTuple):
    """The key of an answer."""

    block: Hash
    position: int | None
    """The index of the transaction in the block; None for the whole block."""
    options: Hashable
    """All other values that affect the answer."""


class KeptTraces:
    """A cache of answers, limited in bytes. The least recently used answer is dropped first.

    Safe to use from any thread.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._answers: BoundedCache[TraceKey, bytes] = BoundedCache(
            most_weight=most_bytes, weigh=lambda _, answer: len(answer) + _ENTRY
        )
        self.asked = HitCounter()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def weight(self) -> int:
        """Approximate bytes of all entries."""
        return self._answers.weight

    def get(self, key: TraceKey) -> bytes | None:
        """Return the answer if it is cached."""
        answer = self._answers.get(key)
        if answer is None:
            self.asked.miss()
        else:
            self.asked.hit()
        return answer

    def keep(self, key: TraceKey, answer: bytes) -> None:
        """Cache an answer, replacing an earlier one, and drop others if the cache is too large."""
        if len(answer) + _ENTRY > self._most_bytes // LARGEST_PART:
            return
        # An encoder's buffer may be half as large again as its contents.
        self._answers.put_newest(key, bytes(memoryview(answer)))
