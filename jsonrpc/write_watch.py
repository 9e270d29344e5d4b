"""An end for peers that hardly read: what waits for them would be held for ever."""

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeastRate:
    """A peer takes `rate` bytes a second of what waits for it, over each `seconds`.

    The slowest line that anybody has is several times as fast.
    """

    rate: int = 1_024
    seconds: float = 30.0


class WriteWatch:
    """Looks after one connection while more waits for its peer than should."""

    def __init__(self, transport: asyncio.Transport, least: LeastRate) -> None:
        self._transport = transport
        self._least = least
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin a span of time, in which nothing else may be written."""
        least = self._least
        waiting = self._transport.get_write_buffer_size()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(least.seconds, self._look, waiting)

    def stop(self) -> None:
        """The peer has read on, or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, before: int) -> None:
        """Cut the connection off if its peer has taken too little."""
        taken = before - self._transport.get_write_buffer_size()
        if taken < max(1, self._least.rate * self._least.seconds):
            self._transport.abort()
        else:
            self.begin()
