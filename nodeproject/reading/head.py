"""How a reader stays at the writer's head; the rule is in the package's docstring."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb.connections import in_thread
from nodeproject.reading.page import HeadPage

PATIENCE: Final = 2.0
"""Seconds for which a head that is committed may be told late. A writer that takes longer is about to end."""
_LOOK: Final = 0.0005
"""Seconds between looks whether it is told."""

_log: Final = logging.getLogger(__name__)

Then = Callable[[bool], None]
"""Is told, on the event loop, whether this process is where the page was when it asked."""


class ReaderHead:
    """The chain's memory in a reader, kept in line with the page. It belongs to an event loop.

    Args:
        chain: The chain. Its memory waits for the writer from now on.
        page: What the writer has told.
    """

    def __init__(self, chain: EvmChain, page: HeadPage) -> None:
        self._chain = chain
        self._page = page
        self._version = -1
        """Of the page, with which this process was last in line."""
        self._changed = page.changed
        self._waiting: list[Then] = []
        self._reaching: asyncio.Task[None] | None = None
        chain.memory.until_told = self._wait_until_told
        chain.memory.pool.changed_elsewhere = lambda: page.pool

    def is_current(self) -> bool:
        """Return whether nothing was told that this process does not know. Each request asks this."""
        return self._page.version == self._version

    def when_current(self, then: Then) -> None:
        """Catch up with what was told, and go on; those who ask meanwhile wait for the same look."""
        self._waiting.append(then)
        if self._reaching is None:
            self._reaching = asyncio.get_running_loop().create_task(self._reach())

    async def _reach(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            version = self._page.version
            try:
                await in_thread(self._catch_up)
                self._version, can_answer = version, True
            except Exception:  # whatever it is, the writer has an answer
                _log.exception("a reader could not catch up; the writer answers")
                can_answer = False
            for then in waiting:
                self._tell(then, can_answer=can_answer)
        self._reaching = None

    def _tell(self, then: Then, *, can_answer: bool) -> None:
        """Let one go on; whatever becomes of it, others wait for the same look."""
        try:
            then(can_answer)
        except Exception:
            _log.exception("a request that waited for a reader's head was not gone on with")

    def _catch_up(self) -> None:
        """Move the memory to what the rows are."""
        chain, memory = self._chain, self._chain.memory
        changed = self._page.changed
        if changed != self._changed and memory.blocks.head is not None:
            memory.changed_elsewhere(memory.blocks.head.number)
        blocks.catch_up(chain)
        self._changed = changed

    def _wait_until_told(self, height: int) -> None:
        until = time.monotonic() + PATIENCE
        while self._page.height < height and time.monotonic() < until:
            time.sleep(_LOOK)
