"""Requests whose responses native code finds in threads of its own, and the connections that wait for them."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Final

from jsonrpc.http.replies import WholeRequests

_log: Final = logging.getLogger("jsonrpc")

Take = Callable[[bytes | None], None]
"""Takes a response, or hears that there is none."""


class Pooled:
    """Who waits for responses of one interface. Belongs to one event loop at a time.

    Args:
        whole: Has them.
    """

    def __init__(self, whole: WholeRequests) -> None:
        self._whole = whole
        self._numbers = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that hears of them."""
        self._waiting: dict[int, Take] = {}

    def number(self) -> int:
        """Return the number of another connection."""
        return next(self._numbers)

    def wait(self, loop: asyncio.AbstractEventLoop, connection: int, take: Take) -> None:
        """Have a response taken that was asked for just now.

        Args:
            loop: The running one.
            connection: The number under which it was asked for.
            take: Is called on the loop.
        """
        if self._loop is not loop:
            number = self._whole.fileno()
            assert number is not None, "something was asked for"
            loop.add_reader(number, self._hand_out)
            self._loop = loop
            self._waiting.clear()  # nobody runs the loop of those any more
        self._waiting[connection] = take

    def _hand_out(self) -> None:
        for connection, response in self._whole.finished():
            # What a loop before this one has left nobody waits for.
            take = self._waiting.pop(connection, None)
            try:
                if take is not None:
                    take(response)
            except Exception:
                # Others wait for what was found with it, and will not be told again.
                _log.exception("a response that was found was not taken")
