"""An average of what was observed in which the old counts less and less. Pure."""

import math


class RunningAverage:
    """Halves the weight of an observation with each half life. Times come from one clock, in seconds."""

    def __init__(self, initial: float, half_life: float, now: float, weight: float = 1.0) -> None:
        self._decay = math.log(2) / half_life
        self._sum = initial * weight
        self._weight = weight
        self._at = now

    def observe(self, value: float, now: float) -> None:
        """Take an observation in."""
        kept = math.exp(-self._decay * max(0.0, now - self._at))
        self._sum = self._sum * kept + value
        self._weight = self._weight * kept + 1.0
        self._at = max(self._at, now)

    @property
    def value(self) -> float:
        """The average after the latest observation."""
        return self._sum / self._weight
