"""Answers about traces of accepted blocks, kept for who asks again. They never change."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from primitives.counting import Asked
from primitives.evm import Hash

LARGEST_PART: Final = 4
"""An answer that takes more than this part (one fourth) of the room is not kept: it would push out all others."""

_ENTRY: Final = 500
"""Bytes that an entry takes besides its answer, about."""


class TraceKey(NamedTuple):
    """What an answer is about."""

    block: Hash
    position: int | None
    """Of the transaction in the block; None: all of the block."""
    options: Hashable
    """Everything else that makes the answer another one."""


class KeptTraces:
    """A cache of answers, bounded in bytes. The answer whose last use is longest ago is dropped first.

    Safe to use from any thread.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._answers: OrderedDict[TraceKey, bytes] = OrderedDict()
        self._bytes = 0
        self.asked = Asked()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def weight(self) -> int:
        """Bytes that all of it takes, about."""
        return self._bytes

    def get(self, key: TraceKey) -> bytes | None:
        """Return the answer if it is kept."""
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                self.asked.miss()
                return None
            self._answers.move_to_end(key)
            self.asked.hit()
            return found

    def keep(self, key: TraceKey, answer: bytes) -> None:
        """Keep an answer in place of any former one, and forget others when there are too many bytes."""
        weight = len(answer) + _ENTRY
        if weight > self._most_bytes // LARGEST_PART:
            return
        # An encoder leaves its bytes up to half as large again as what is in them.
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
