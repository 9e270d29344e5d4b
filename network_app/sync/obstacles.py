"""What keeps a chain from going on although its peers answer, in words for health, log and admin. Pure.

Another genesis, a block that the rules here refuse and that the network has accepted, or another block where
one is accepted here: no further question helps with these, but another version of this node, other
settings or other peers may. So it is tried again now and then.
"""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from primitives.ids import ID

_log = logging.getLogger(__name__)


class Support(NamedTuple):
    """How many of some nodes say that they have accepted a block."""

    who: str
    """What they are: "validators"."""
    accepted: int
    of: int
    share: float | None = None
    """Of their stake, 0 to 1; None: they weigh the same."""

    @property
    def is_most(self) -> bool:
        """Whether more than half of them do, by stake where they have any."""
        return self.share > 0.5 if self.share is not None else 2 * self.accepted > self.of

    @property
    def words(self) -> str:
        """Who they are."""
        if self.accepted == self.of:
            return (
                f"the only {self.who.removesuffix('s')}"
                if self.of == 1
                else (f"all {self.of} {self.who}")
            )
        stake = "" if self.share is None else f" ({self.share:.2%} of the stake)"
        return f"{self.accepted} of {self.of} {self.who}{stake}"


class Refused(NamedTuple):
    """A block that the network has accepted and the rules here refuse."""

    block_id: ID
    height: int | None
    reason: str
    accepted_by: Support

    def words(self, alias: str) -> str:
        """Say it."""
        block = self.block_id if self.height is None else self.height
        return (
            f"{self.accepted_by.words} accepted {alias}-Chain block {block}, which this node's rules "
            f"refuse: {self.reason}"
        )


class Obstacle:
    """That of one chain, while there is one."""

    def __init__(self, alias: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._clock = clock
        self.words: str | None = None
        """What it is, for people."""
        self.on_change: list[Callable[[], None]] = []
        self._height = 0
        self._until = 0.0
        self._named = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether it is too early to try again."""
        return self.words is not None and self._clock() < self._until

    def stands(self, words: str, height: int, rest: float = 0.0) -> None:
        """Note what keeps the chain at a height; `rest` is for how many seconds it is not tried again."""
        self._height, self._until = height, self._clock() + rest
        self.named()
        if words == self.words:
            return
        self.words = words
        _log.error("the %s-Chain stands at height %d: %s", self._alias, height, words)
        self._tell()

    def named(self) -> None:
        """Note that somebody to be believed has blocks beyond it still."""
        self._named = self._clock()

    def lapse(self, seconds: float) -> None:
        """End it if it was not named for some seconds: what nobody has any more is in nobody's way."""
        if self.words is not None and self._clock() - self._named >= seconds:
            _log.warning("nobody names a block of the %s-Chain any more that it lacks", self._alias)
            self.gone()

    def passed(self, height: int) -> None:
        """Note that blocks up to a height are accepted."""
        if height > self._height:
            self.gone()

    def gone(self) -> None:
        """Note that nothing is in the way any more."""
        if self.words is None:
            return
        self.words = None
        _log.warning("the %s-Chain goes on", self._alias)
        self._tell()

    def _tell(self) -> None:
        for listener in self.on_change:
            listener()
