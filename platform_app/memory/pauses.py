"""When it is time again for what would else be done all the time, in vain."""

from dataclasses import dataclass, field
from time import monotonic

from primitives.ids import ID

PAUSE = 10.0
"""Seconds between two looks at all that waits, and between two attempts on the same block: only what waits
can have changed meanwhile."""


@dataclass(slots=True)
class Looks:
    """When all that waits may be looked at again."""

    again_at: float = 0.0
    """On the monotonic clock, in seconds."""

    def may_begin(self) -> bool:
        """Say whether it is time for a look, and note that one is taken."""
        moment = monotonic()
        if moment < self.again_at:
            return False
        self.again_at = moment + PAUSE
        return True


@dataclass(slots=True)
class Renewals:
    """The attempts to renew the own validator, so that it is neither tried nor told all the time."""

    tip: ID | None = None
    """The last block when it tried last."""
    again_at: float = 0.0
    """On the monotonic clock, in seconds."""
    told: set[type[Exception]] = field(default_factory=set)
    """Why it did not work since it worked last. The words differ with each coin that comes and goes."""

    def may_begin(self, tip: ID) -> bool:
        """Say whether it is time for an attempt, and note that it is made."""
        if tip == self.tip and monotonic() < self.again_at:
            return False
        self.tip, self.again_at = tip, monotonic() + PAUSE
        return True

    def is_news(self, reason: Exception) -> bool:
        """Say whether what stands against it has not been told yet, and note that it is."""
        known = type(reason) in self.told
        self.told.add(type(reason))
        return not known

    def succeed(self) -> None:
        """Forget what stood against it."""
        self.told.clear()

    def undo(self) -> None:
        """Note that the last attempt came to nothing, with the block that it was for."""
        self.tip = None
