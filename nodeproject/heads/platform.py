"""Hears of the P-Chain's blocks in a web process: what was answered before one is forgotten.

A pointer that is lost does no harm: answers are handed out only shortly after a look at the rows (`memory.answers`).
"""

import asyncio
from collections.abc import Callable

from chaindb.pointers import Message
from platform_app import notifications
from platform_app.chain import PlatformChain


class PlatformListener:
    """The listener of one event loop; it lives as long as the process.

    Args:
        chain: Whose blocks are heard of.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._unbind: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to listen, on the running event loop; a second call does nothing."""
        if self._unbind is None:
            chain, loop = self._chain, asyncio.get_running_loop()
            self._unbind = chain.pointers.bind(loop, self._hear, chain.aliases[:1])

    def stop(self) -> None:
        """Listen no more."""
        if self._unbind is not None:
            self._unbind()
            self._unbind = None

    def _hear(self, message: Message) -> None:
        if message["type"] == notifications.HEAD:
            self._chain.answers.accepted(message["block_id"])
