"""How much of what waits a maker of blocks takes at once: less after a block that was too late for its turn.

Else a machine that is too slow for what waits would make the same block again and again, in vain.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

LEAST_PARTS = 1_024
"""The smallest part that is offered is one of so many."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Offer:
    """What is offered of a chain's waiting transactions; one for each chain and process.

    Args:
        most: So many are in a block at most, about.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts = 1

    def of(self, waiting: Iterable[T]) -> Iterator[T]:
        """Return the first of those that wait: all where no block was late, one at least."""
        return islice(waiting, None if self._parts == 1 else max(1, self._most // self._parts))

    def was_late(self, reason: Exception) -> None:
        """Note that a block came to nothing."""
        self._parts = min(2 * self._parts, LEAST_PARTS)
        _log.warning("%s: less is offered to the next one", reason)

    def was_taken(self) -> None:
        """Note that a block was accepted."""
        self._parts = max(1, self._parts // 2)
