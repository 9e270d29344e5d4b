"""The peer behind a server's `send`: whether it has disconnected, and how to cut it off.

uvicorn's `send` is a method of the object with the transport. For other servers nothing is known about the peer.
"""

import asyncio
import select
from dataclasses import dataclass
from typing import Any, Final

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
"""Flag for a peer that has stopped sending, which Linux reports even if there is unread data. Other systems report
only a connection that has ended in both directions."""


def transport_of(send: Any) -> Any:
    """Return the transport by which a server sends; None if the server does not expose it."""
    return getattr(getattr(send, "__self__", None), "transport", None)


def is_gone(send: Any) -> bool:
    """Return whether the peer has disconnected. Can be called in any thread.

    It asks the kernel, because the event loop notices only after it has read the earlier data.
    """
    transport = transport_of(send)
    return transport is not None and has_hung_up(transport)


def has_hung_up(transport: Any) -> bool:
    """Return whether the peer of a transport has disconnected, like `is_gone`.

    Unspecified: a client that closes its sending side after a request, and waits for the answer, counts as
    disconnected. Go's server answers it. No system can distinguish the two cases before something is written, and
    otherwise calls would be executed to the end for every client that has left.
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
        return True  # it was closed in the meantime
    return bool(poll.poll(0))


@dataclass(frozen=True, slots=True)
class MinimumRate:
    """A peer must read at least `rate` bytes per second of the queued output, on average over `seconds`.

    The slowest network connections in use are several times as fast.
    """

    rate: int = 1_024
    seconds: float = 30.0


class WriteWatch:
    """Watches one connection while too much output is queued for its peer."""

    def __init__(self, transport: asyncio.Transport, minimum: MinimumRate) -> None:
        self._transport = transport
        self._least = minimum
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Start an interval in which nothing else may be written."""
        minimum = self._least
        buffered = self._transport.get_write_buffer_size()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(minimum.seconds, self._look, buffered)

    def stop(self) -> None:
        """Stop, because the peer has read on or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, before: int) -> None:
        """Cut off the connection if its peer has read too little."""
        sent = before - self._transport.get_write_buffer_size()
        if sent < max(1, self._least.rate * self._least.seconds):
            self._transport.abort()
        else:
            self.begin()
