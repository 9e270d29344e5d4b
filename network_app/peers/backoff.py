"""How long to wait before the next dial (p2p.md 5.1). Pure."""

import random

LONGEST_SHARE = 0.75
"""At the limit the wait is random from this share of it up: not all come back at one time."""


class BackOff:
    """Waits that grow with each failure up to a limit, each by a random factor from 1 to 2."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()  # noqa: S311 spreads load, guards nothing
        self._next = first

    def reset(self) -> None:
        """Begin anew, after a success."""
        self._next = self._first

    def wait(self) -> float:
        """Return the seconds to wait after one more failure."""
        seconds = self._next
        self._next *= 1.0 + self._chance.random()
        if self._next > self._longest:
            self._next = self._longest * self._chance.uniform(LONGEST_SHARE, 1.0)
        return min(seconds, self._longest)
