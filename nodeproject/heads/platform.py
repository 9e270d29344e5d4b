"""Listens for the P-Chain's blocks in a web process, to discard answers that were cached before a block.

Losing an event is harmless: cached answers are only used shortly after a check of the database (`memory.answers`).
"""

import asyncio
from collections.abc import Callable

from chaindb.events import Message
from platform_app import notifications
from platform_app.chain import PlatformChain


class PlatformListener:
    """The listener of one event loop; it runs as long as the process.

    Args:
        chain: The chain whose blocks are listened for.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._unbind: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to listen, on the running event loop; a second call does nothing."""
        if self._unbind is None:
            chain, loop = self._chain, asyncio.get_running_loop()
            self._unbind = chain.pointers.bind(loop, self._hear, [chain.name])

    def stop(self) -> None:
        """Stop listening."""
        if self._unbind is not None:
            self._unbind()
            self._unbind = None

    def _hear(self, message: Message) -> None:
        if message["type"] == notifications.HEAD:
            self._chain.answers.accepted(message["block_id"])
