"""Whether anybody still waits for the answer to a body that a thread works at."""

import math
from collections.abc import Callable
from typing import Final

LOOK_SECONDS: Final = 0.005
"""So often at most the client is looked for: that costs as much as a small call."""


class Gone(Exception):
    """The client has hung up."""


class Waiting:
    """A client that waits for an answer until a time by the clock.

    Whether it has hung up its connection says, if it can (see `HttpConnection`).
    """

    def __init__(self, connection: object, end: float, clock: Callable[[], float]) -> None:
        self._is_gone: Callable[[], bool] | None = getattr(connection, "is_gone", None)
        self._end = end
        self._clock = clock
        self._next_look = -math.inf

    def is_over(self) -> bool:
        """Return whether the time has passed.

        Raises:
            Gone: the client has hung up.
        """
        now = self._clock()
        if self._is_gone is not None and now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            if self._is_gone():
                raise Gone
        return now > self._end

    def is_late(self) -> bool:
        """Return whether the time has passed for an answer that is ready."""
        return self._clock() > self._end
