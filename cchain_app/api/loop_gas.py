"""Limits on the work that calls may do on the event loop, where every other request waits for them.

The limit is in gas: the native engine executes 200,000 gas of the slowest operations in a few milliseconds.
A request that exceeds the limit moves to a thread as a whole, which is not an error and does not change the answer.
Calls in the shortcut, and in whole requests and frames, have their own limits (`memory.select`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from cchain_app.evm.engine import GasAllowance
from cchain_app.memory.select import GAS_OF_REQUEST, SECONDS_OF_REQUEST
from chaindb.connections import WouldBlock
from jsonrpc.limits.interpreter import LoopTurn


class LoopGasShare:
    """The gas and the time that one request may use."""

    __slots__ = ("deadline", "gas")

    def __init__(self, gas: GasAllowance, deadline: float) -> None:
        """Allow this gas until a time of the monotonic clock."""
        self.gas = gas
        self.deadline = deadline


_batch: Final[ContextVar[list[LoopGasShare] | None]] = ContextVar("cchain_batch", default=None)
"""The share of the current batch, once it has one."""


@contextmanager
def one_request() -> Iterator[None]:
    """Let all calls that are answered in the body share the allowance of one request."""
    token = _batch.set([])
    try:
        yield
    finally:
        _batch.reset(token)


def in_batch() -> bool:
    """Return whether a batch is being tried on the event loop; if so, all its calls may be executed again."""
    return _batch.get() is not None


class LoopGas:
    """Allocates shares of one event loop's time.

    All requests that are pending in one turn of the loop share `LoopTurn`'s time. Ordinary calls use so much less
    time than their gas permits that a limit in gas would move most of them to threads.

    Args:
        clock: Returns seconds, monotonically.
        turn: The loop's turn, if others use it as well.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, turn: LoopTurn | None = None
    ) -> None:
        self._clock = clock
        self._turn = turn or LoopTurn(clock=clock)

    def share(self) -> LoopGasShare:
        """Return the share of the running request.

        Raises:
            WouldBlock: Other requests have used up this turn.
        """
        batch = _batch.get()
        if batch:
            return batch[0]
        if self._turn.is_spent():
            raise WouldBlock
        share = LoopGasShare(GasAllowance(GAS_OF_REQUEST), self._clock() + SECONDS_OF_REQUEST)
        if batch is not None:
            batch.append(share)
        return share
