"""Time slices for writing the indexes of calls and of tokens, which lag behind the blocks."""

import time
from collections.abc import Callable
from typing import Final

SHARE: Final = {"embedded": 0.1, "production": 0.8}
"""Seconds of each second in which an index is written, by profile: the embedded worker also builds the blocks."""

REST_SECONDS: Final = 5.0
"""Seconds between two slices while a thread that shares the interpreter is busy with requests.

Shorter slices in each second would not help: blocks are read in batches, and stopping early wastes
most of the reading. A writer also takes more from the serving thread than its own time: whenever
the writer returns from the database and needs the interpreter, the other thread waits for a switch
interval."""

BUSY_SHARE: Final = 0.5
"""The serving thread counts as busy if it computes for more than this share of its time."""

CHECK_SECONDS: Final = 0.5
"""Minimum seconds between two checks; in a shorter time a single response would count as busy."""


class IndexingTime:
    """Decides how long each index may be written in its turn. One object for all indexes of a process.

    Unspecified: while a node is busy with requests its indexes may fall behind; they catch up when it
    is less busy.

    Args:
        profile: `embedded` if the process does everything, else it is a worker.
        clock: Returns seconds.
    """

    def __init__(self, profile: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = SHARE[profile]
        self._clock = clock
        self._processor_time: Callable[[], float] | None = None
        self._checked_at = self._used_before = 0.0
        self._is_busy = False
        self._written_at: dict[str, float] = {}
        """When each index was last written, by name."""

    def beside(self, processor_time: Callable[[], float]) -> None:
        """Pause writing from now on while a thread of this process is busy.

        Args:
            processor_time: Returns the seconds that the thread has computed.
        """
        self._checked_at, self._used_before = self._clock(), processor_time()
        self._processor_time = processor_time

    def seconds(self, index: str) -> float:
        """Return for how many seconds an index may be written now, or 0. Called every second.

        Args:
            index: Name of the index.
        """
        now = self._clock()
        if self._processor_time is not None:
            self._update_busy(now, self._processor_time)
        last = self._written_at.get(index)
        if self._is_busy and last is not None and now - last < REST_SECONDS:
            return 0.0
        self._written_at[index] = now
        return self._share

    def _update_busy(self, now: float, processor_time: Callable[[], float]) -> None:
        passed = now - self._checked_at
        if passed < CHECK_SECONDS:
            return
        used = processor_time()
        self._is_busy = used - self._used_before > BUSY_SHARE * passed
        self._checked_at, self._used_before = now, used
