"""How long indexes are written at a time: rows of calls and of tokens, which come behind the blocks."""

import time
from collections.abc import Callable
from typing import Final

SHARE: Final = {"embedded": 0.1, "production": 0.8}
"""Seconds of each in which an index is written, by profile: the embedded worker makes the blocks, too."""

REST_SECONDS: Final = 5.0
"""From one time to the next while a thread that shares the interpreter has much to answer.

Not a shorter time in each second: blocks are read together, and who stops early has read most of them in vain. And who
writes takes more from the thread that answers than its own time: whenever it gets the interpreter back from the
database the other one waits for a switch interval."""

MUCH: Final = 0.5
"""Of its time, which the thread that answers computes."""

LOOK_SECONDS: Final = 0.5
"""It is looked at no more often than that: in a shorter time one answer would be much."""


class IndexingTime:
    """How long each index may be written when its second has come. One for all indexes of a process.

    Unspecified: while a node has much to answer its indexes may fall behind; they catch up when it has less.

    Args:
        profile: Whether the process does all (`embedded`), or is a worker.
        clock: Tells seconds.
    """

    def __init__(self, profile: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = SHARE[profile]
        self._clock = clock
        self._processor_time: Callable[[], float] | None = None
        self._looked_at = self._used = 0.0
        self._has_much_to_answer = False
        self._written_at: dict[str, float] = {}
        """When each index was, by its name."""

    def beside(self, processor_time: Callable[[], float]) -> None:
        """Give way to a thread of this process from now on.

        Args:
            processor_time: Tells for how many seconds it has computed.
        """
        self._looked_at, self._used = self._clock(), processor_time()
        self._processor_time = processor_time

    def seconds(self, index: str) -> float:
        """Return for how long an index may be written now, which is asked for every second; 0: not at all.

        Args:
            index: Its name.
        """
        now = self._clock()
        if self._processor_time is not None:
            self._look(now, self._processor_time)
        last = self._written_at.get(index)
        if self._has_much_to_answer and last is not None and now - last < REST_SECONDS:
            return 0.0
        self._written_at[index] = now
        return self._share

    def _look(self, now: float, processor_time: Callable[[], float]) -> None:
        passed = now - self._looked_at
        if passed < LOOK_SECONDS:
            return
        used = processor_time()
        self._has_much_to_answer = used - self._used > MUCH * passed
        self._looked_at, self._used = now, used
