"""Schedules block building: a block needs content and a slot of this node (snowman.md 8.7, 9)."""

import asyncio
from collections.abc import Callable
from typing import Any

from chainvm.port import MILLISECONDS
from network_app.consensus.vm import BuildOutcome, ThreadedVM
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.parameters import SnowParameters
from primitives.ids import ID


class BuildScheduler:
    """Forwards the chain's request to build a block to the engine, as soon as slot and rules allow it.

    Args:
        vm: The chain.
        wake: Called when it is time to call `look`.
        parameters: No block is built while `optimal_processing` blocks are processing.
    """

    def __init__(
        self, vm: ThreadedVM[Any], wake: Callable[[], None], parameters: SnowParameters
    ) -> None:
        self._vm = vm
        self._wake = wake
        self._parameters = parameters
        self._notifications = 0
        self._answered = 0
        self._state: tuple[ID, bool] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def wanted(self) -> None:
        """Note that the chain may have something to put into a block."""
        self._notifications += 1
        self._wake()

    def stepped(self, engine: SnowmanEngine[Any]) -> None:
        """Note a step of the engine: if the preferred block changed, this node may now build."""
        state = engine.tree.preference, self._is_full(engine)
        if state != self._state:
            self._state = state
            if self._is_wanted:
                self._wake()

    async def look(self, engine: SnowmanEngine[Any]) -> None:
        """Build a block if one is wanted and allowed by now; otherwise set a timer for that time."""
        self.stop()
        if not self._is_wanted or self._is_full(engine):
            return
        milliseconds = await self._vm.delay()
        if milliseconds is None:
            return
        if milliseconds > 0:
            seconds = milliseconds / MILLISECONDS
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)
            return
        notified = self._notifications
        await engine.want_block()
        match self._vm.last_build:
            case BuildOutcome.NOTHING:
                self._answered = notified
            case BuildOutcome.BLOCK:
                self._wake()  # the pool may hold more than fitted into the block
            case BuildOutcome.NOT_NOW | BuildOutcome.FAILED:
                pass  # the periodic check tries again

    def stop(self) -> None:
        """Cancel the timer for the next block."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _is_wanted(self) -> bool:
        return self._answered != self._notifications

    def _is_full(self, engine: SnowmanEngine[Any]) -> bool:
        return len(engine.tree) >= self._parameters.optimal_processing
