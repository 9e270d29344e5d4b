"""Who is behind a server's `send`: whether the peer has hung up, and what to cut it off by.

uvicorn's `send` is a method of what has the transport. Of another server's peers nothing is known.
"""

import select
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
    if transport is None:
        return False
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
