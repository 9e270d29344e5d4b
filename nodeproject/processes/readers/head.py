"""How a reader stays at the writer's head; the rule is in the package's docstring."""

import time
from typing import Final

from typing_extensions import override

from cchain_app.chain import EvmChain
from nodeproject.heads.shared_memory import HeadPage
from nodeproject.heads.sync import SyncedHead

PATIENCE: Final = 2.0
"""Seconds to wait for the publication of a committed head. A writer that takes longer is about to end."""
_LOOK: Final = 0.0005
"""Seconds between checks whether the head is published."""


class ReaderHead(SyncedHead):
    """The head of a reader, which shows nothing that the writer has not published.

    Args:
        chain: The chain; its memory waits for the writer from now on.
        page: The page on which the writer publishes.
    """

    def __init__(self, chain: EvmChain, page: HeadPage) -> None:
        super().__init__(chain, page)
        self._changed = page.changed
        chain.memory.until_told = self._wait_until_told
        chain.memory.pool.changed_elsewhere = lambda: page.pool

    @override
    def _catch_up(self) -> None:
        changed, memory = self._page.changed, self._chain.memory
        if changed != self._changed and memory.blocks.head is not None:
            memory.changed_elsewhere(memory.blocks.head.number)
        super()._catch_up()
        self._changed = changed

    def _wait_until_told(self, height: int) -> None:
        until = time.monotonic() + PATIENCE
        while self._page.height < height and time.monotonic() < until:
            time.sleep(_LOOK)
