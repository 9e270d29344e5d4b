"""Blocks of those who make them that contradict what is accepted here: then one of both is on a fork. Pure.

What is accepted is final, so nothing here can heal it. It is said, in the log and by health, until the
node begins anew with the others' chain.
"""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from primitives.ids import ID, NodeID

OVER = 60.0
"""Seconds without another one after which blocks of peers that were accepted show that it is over: of
several who take turns one was on its own."""

_log = logging.getLogger(__name__)


class Conflict(NamedTuple):
    """Two blocks at one height."""

    height: int
    ours: ID
    theirs: ID
    producer: NodeID
    """Who signed theirs, or one that follows it."""


class Conflicts:
    """The latest of one chain."""

    def __init__(self, alias: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._clock = clock
        self._latest: Conflict | None = None
        self._at = 0.0

    def found(self, conflict: Conflict) -> None:
        """Note one; the first of several is logged."""
        self._at = self._clock()
        if self._latest is None:
            self._latest = conflict
            _log.error("fork: %s", self.words)

    def advanced(self) -> None:
        """Note that blocks of peers were accepted."""
        if self._latest is not None and self._clock() - self._at > OVER:
            self._latest = None
            _log.warning("%s-Chain: the producers' blocks follow ours again", self._alias)

    @property
    def words(self) -> str | None:
        """What is wrong, for people; None: nothing is."""
        if self._latest is None:
            return None
        height, ours, theirs, producer = self._latest
        return (
            f"the {self._alias}-Chain's block {height} here is {ours}, the producer's is {theirs} "
            f"({producer})"
        )
