"""A limit on the calls that trace at the same time: they take long, and must leave threads to other calls."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError

PATIENCE_SECONDS: Final = 10.0
"""Longest time that a call waits for its turn."""


class TraceTurns:
    """Lets a number of calls trace concurrently, and as many again wait. Each RPC context has its own limit.

    Unspecified: geth has no such limit. The error code is that of a rate limit, because clients that know it
    try again.
    """

    def __init__(self, at_once: int, patience: float = PATIENCE_SECONDS) -> None:
        self._admitted = threading.BoundedSemaphore(2 * at_once)
        self._turns = threading.BoundedSemaphore(at_once)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run the body as one of the tracing calls.

        Raises:
            JsonRpcError: -32005, too many calls wait, or this call's turn did not come in time.
        """
        if not self._admitted.acquire(blocking=False):
            raise _busy()
        try:
            if not self._turns.acquire(timeout=self._patience):
                raise _busy()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._admitted.release()


def _busy() -> JsonRpcError:
    return JsonRpcError(LIMIT_EXCEEDED, "too many calls trace already")
