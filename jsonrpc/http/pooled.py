"""Requests that native code answers in its own threads, and the connections that wait for the responses."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Final

from jsonrpc.http.replies import WholeRequests

_log: Final = logging.getLogger("jsonrpc")

Take = Callable[[bytes | None], None]
"""Receives a response, or None if there is no response."""


class PooledRequests:
    """The connections that wait for responses of one interface. Belongs to one event loop at a time.

    Args:
        requests: Provides the responses.
    """

    def __init__(self, requests: WholeRequests) -> None:
        self._whole = requests
        self._numbers = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that is notified of responses."""
        self._waiting: dict[int, Take] = {}

    def number(self) -> int:
        """Return a new connection number."""
        return next(self._numbers)

    def wait(self, loop: asyncio.AbstractEventLoop, connection: int, take: Take) -> None:
        """Register a connection for the response to the request that it has just made.

        Args:
            loop: The running event loop.
            connection: The number used in the request.
            take: Called on the loop with the response.
        """
        if self._loop is not loop:
            number = self._whole.fileno()
            assert number is not None, "a request was made before"
            loop.add_reader(number, self._hand_out)
            self._loop = loop
            self._waiting.clear()  # their event loop no longer runs
        self._waiting[connection] = take

    def _hand_out(self) -> None:
        for connection, response in self._whole.finished():
            # There may be responses for connections of an earlier event loop, which no longer wait.
            take = self._waiting.pop(connection, None)
            try:
                if take is not None:
                    take(response)
            except Exception:
                # The remaining responses must still be delivered, because there is no second notification.
                _log.exception("a response could not be delivered to its connection")
