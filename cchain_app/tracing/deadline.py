"""A time limit for several traces together."""

import time

from cchain_app.evm.tracing import TraceTimedOut


class Deadline:
    """A deadline a number of seconds after its creation."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, always more than 0.

        Raises:
            TraceTimedOut: The deadline has passed.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TraceTimedOut("execution timeout")
        return left
