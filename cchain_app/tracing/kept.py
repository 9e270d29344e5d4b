"""A cache of traces of accepted blocks, which never change."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from primitives.counting import HitCounter
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
        self._lock = threading.Lock()
        self._answers: OrderedDict[TraceKey, bytes] = OrderedDict()
        self._bytes = 0
        self.asked = HitCounter()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def weight(self) -> int:
        """Approximate bytes of all entries."""
        return self._bytes

    def get(self, key: TraceKey) -> bytes | None:
        """Return the answer if it is cached."""
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                self.asked.miss()
                return None
            self._answers.move_to_end(key)
            self.asked.hit()
            return found

    def keep(self, key: TraceKey, answer: bytes) -> None:
        """Cache an answer, replacing an earlier one, and drop others if the cache is too large."""
        weight = len(answer) + _ENTRY
        if weight > self._most_bytes // LARGEST_PART:
            return
        # An encoder's buffer may be half as large again as its contents.
        answer = bytes(memoryview(answer))
        with self._lock:
            former = self._answers.pop(key, None)
            if former is not None:
                self._bytes -= len(former) + _ENTRY
            self._answers[key] = answer
            self._bytes += weight
            while self._bytes > self._most_bytes:
                _, gone = self._answers.popitem(last=False)
                self._bytes -= len(gone) + _ENTRY
