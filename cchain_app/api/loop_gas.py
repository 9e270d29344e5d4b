"""How much calls may take of the event loop, where everybody waits for them.

Gas is the measure: the native engine does 200,000 gas of the slowest work in a few milliseconds.
What does not fit goes to a thread, the whole request: that is no error and changes no answer.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from cchain_app.evm.engine import GasAllowance

GAS_OF_REQUEST: Final = 200_000
"""All calls of a batch together."""

GAS_OF_TURN: Final = 1_000_000
"""All requests together that a turn of the loop finds waiting: the next turn comes after them."""

SECONDS_OF_REQUEST: Final = 0.01
"""Against what gas does not measure, such as a machine that is busy with something else."""


class Share:
    """What one request may take."""

    __slots__ = ("deadline", "gas")

    def __init__(self, gas: GasAllowance, deadline: float) -> None:
        """Allow this gas until a time by the monotonic clock."""
        self.gas = gas
        self.deadline = deadline

    def seconds(self) -> float:
        """Return how much time is left, a little at least."""
        return max(self.deadline - time.monotonic(), 0.001)


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


class LoopGas:
    """Hands out shares of one event loop's time."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        """Whose turn `_turn` is; None between turns in which calls are run."""
        self._turn = GasAllowance(GAS_OF_TURN)

    def share(self) -> Share:
        """Return the share of the running request."""
        batch = _batch.get()
        if batch:
            return batch[0]
        share = Share(
            GasAllowance(GAS_OF_REQUEST, within=self._of_turn()),
            time.monotonic() + SECONDS_OF_REQUEST,
        )
        if batch is not None:
            batch.append(share)
        return share

    def _of_turn(self) -> GasAllowance:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._turn = GasAllowance(GAS_OF_TURN)
            loop.call_soon(self._end_turn, loop)
        return self._turn

    def _end_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._loop = None
