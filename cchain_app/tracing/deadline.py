"""A time by which several traces have to be done, all of them together."""

import time

from cchain_app.evm.tracing import TraceTimedOut


class Deadline:
    """So many seconds from when it is made."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return how many seconds are left, more than none.

        Raises:
            TraceTimedOut: None are.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TraceTimedOut("execution timeout")
        return left
