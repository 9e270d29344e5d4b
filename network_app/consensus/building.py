"""When this node builds a block: there is something to put into it, and its slot has come (snowman.md 8.7, 9)."""

import asyncio
from collections.abc import Callable
from typing import Any

from network_app.consensus.vm import Built, ThreadedVM
from network_app.snowman.engine import Engine
from network_app.snowman.parameters import Parameters
from primitives.ids import ID


class Building:
    """Passes the chain's word that it has something on to the engine, but not before its time.

    Args:
        vm: The chain.
        wake: Called when it is time to `look`.
        parameters: While `optimal_processing` blocks are processing nothing is built.
    """

    def __init__(
        self, vm: ThreadedVM[Any], wake: Callable[[], None], parameters: Parameters
    ) -> None:
        self._vm = vm
        self._wake = wake
        self._parameters = parameters
        self._told = 0
        self._answered = 0
        self._state: tuple[ID, bool] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def wanted(self) -> None:
        """Note that the chain may have something to put into a block."""
        self._told += 1
        self._wake()

    def stepped(self, engine: Engine[Any]) -> None:
        """Note that the engine has done something: on another block it may be this node's turn."""
        state = engine.tree.preference, self._is_full(engine)
        if state != self._state:
            self._state = state
            if self._is_wanted:
                self._wake()

    async def look(self, engine: Engine[Any]) -> None:
        """Have a block built if that is wanted, and may be now; else come back when it may."""
        self.stop()
        if not self._is_wanted or self._is_full(engine):
            return
        begins = await self._vm.builds_from()
        if begins is None:
            return
        seconds = begins - self._vm.now()
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)
            return
        told = self._told
        await engine.want_block()
        match self._vm.last_build:
            case Built.NOTHING:
                self._answered = told
            case Built.BLOCK:
                self._wake()  # there may be more than went into it
            case Built.NOT_NOW | Built.FAILED:
                pass  # the clock looks again

    def stop(self) -> None:
        """Wait for no slot any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _is_wanted(self) -> bool:
        return self._answered != self._told

    def _is_full(self, engine: Engine[Any]) -> bool:
        return len(engine.tree) >= self._parameters.optimal_processing
