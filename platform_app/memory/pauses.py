"""When all that waits may be looked at once more."""

from dataclasses import dataclass
from time import monotonic

PAUSE = 10.0
"""Seconds between two looks at all that waits."""


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
