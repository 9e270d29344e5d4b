"""Who is behind a server's `send`: whether the peer has hung up, and what to cut it off by.

uvicorn's `send` is a method of what has the transport. Of another server's peers nothing is known.
"""

import asyncio
import select
from dataclasses import dataclass
from typing import Any, Final

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
"""A peer that sends no more, which Linux tells though there is something left to read. Elsewhere only
a connection that is over in both directions is told."""


def transport_of(send: Any) -> Any:
    """Return the transport by which a server sends; None if it does not show it."""
    return getattr(getattr(send, "__self__", None), "transport", None)


def is_gone(send: Any) -> bool:
    """Return whether the peer has hung up, so that nobody waits for an answer. In any thread.

    The kernel is asked: the event loop hears of it only when it has read what came before.
    """
    transport = transport_of(send)
    return transport is not None and has_hung_up(transport)


def has_hung_up(transport: Any) -> bool:
    """Return whether the peer of a transport has, as `is_gone` does.

    Unspecified: a client that ends its side of the connection after a request, and waits for the answer,
    is taken for one that has hung up. Go's server answers it. No system can tell the two apart before
    something is written, and then calls would be executed to the end for everybody who has left.
    """
    if transport.is_closing():
        return True
    socket = transport.get_extra_info("socket")
    if socket is None:
        return False
    poll = select.poll()
    try:
        poll.register(socket, _HUNG_UP)
    except ValueError:
        return True  # it was closed since
    return bool(poll.poll(0))


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
