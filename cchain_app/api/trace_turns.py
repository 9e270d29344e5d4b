"""Turns of the calls that trace: they take long, and must leave threads to all others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError

PATIENCE_SECONDS: Final = 10.0
"""So long a call waits for its turn at most."""


class TraceTurns:
    """So many calls trace at once, and as many again wait for them. One for each door.

    Unspecified: geth lets all trace that ask. The code is the one of the rate limit: clients that know it
    try again.
    """

    def __init__(self, at_once: int, patience: float = PATIENCE_SECONDS) -> None:
        self._admitted = threading.BoundedSemaphore(2 * at_once)
        self._turns = threading.BoundedSemaphore(at_once)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Trace in the body.

        Raises:
            JsonRpcError: -32005, as many wait as may, or the turn did not come in time.
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
