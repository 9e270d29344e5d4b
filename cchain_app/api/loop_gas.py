"""How much calls may take of the event loop, where everybody waits for them.

Gas is the measure: the native engine does 200,000 gas of the slowest work in a few milliseconds.
What does not fit goes to a thread, the whole request: that is no error and changes no answer.
What the shortcut runs, and what is run in whole requests and frames, is bounded by itself (`memory.select`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from cchain_app.evm.engine import GasAllowance
from cchain_app.memory.select import GAS_OF_REQUEST, SECONDS_OF_REQUEST
from chaindb.connections import WouldBlock
from jsonrpc.limits.turn import LoopTurn


class Share:
    """What one request may take."""

    __slots__ = ("deadline", "gas")

    def __init__(self, gas: GasAllowance, deadline: float) -> None:
        """Allow this gas until a time by the monotonic clock."""
        self.gas = gas
        self.deadline = deadline


_batch: Final[ContextVar[list[Share] | None]] = ContextVar("cchain_batch", default=None)
"""The share of the batch that is being answered, once it has one."""


@contextmanager
def one_request() -> Iterator[None]:
    """Let all calls that are answered in the body share what one request may take."""
    token = _batch.set([])
    try:
        yield
    finally:
        _batch.reset(token)


def in_batch() -> bool:
    """Say whether a batch is being tried on the event loop, whose calls may all be executed once more."""
    return _batch.get() is not None


class LoopGas:
    """Hands out shares of one event loop's time.

    All requests together that a turn of the loop finds waiting have `LoopTurn`'s time. Ordinary calls
    take so much less than their gas could that a bound in gas would send most of them to threads.

    Args:
        clock: Seconds, rising.
        turn: The loop's, where others take of it as well.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, turn: LoopTurn | None = None
    ) -> None:
        self._clock = clock
        self._turn = turn or LoopTurn(clock=clock)

    def share(self) -> Share:
        """Return the share of the running request.

        Raises:
            WouldBlock: Other requests have taken all of this turn.
        """
        batch = _batch.get()
        if batch:
            return batch[0]
        if self._turn.is_spent():
            raise WouldBlock
        share = Share(GasAllowance(GAS_OF_REQUEST), self._clock() + SECONDS_OF_REQUEST)
        if batch is not None:
            batch.append(share)
        return share
