"""Follow the chains in a web process by their events.

For an EVM chain one task handles the events: it updates memory and notifies subscribers. Another task checks the database
each second, in case events were lost or the channel layer was unavailable. For the P-Chain, answers that were cached before
a block are discarded. Losing one of its events is harmless: cached answers are only used shortly after a check of the
database (`memory.answers`).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from django.conf import settings

from cchain_app import notifications
from cchain_app.api import EvmRpc
from cchain_app.api.eth import subscriptions
from cchain_app.selectors import blocks
from cchain_app.syncing import SyncProgress
from chaindb.connections import in_thread
from chaindb.events import Message
from network_app import selectors as network
from nodeproject.heads.registry import Follower, directory_of
from platform_app import notifications as platform_notifications
from platform_app.chain import PlatformChain

TICK = 1.0
"""Seconds between checks of the database."""

TURNS_OF_ANSWER: Final = 3
"""Turns of the event loop from the thread that has produced an answer to the answer's socket. After so many turns a
client whose transaction went directly into a block usually has its answer before subscribers hear of the block."""

_log = logging.getLogger(__name__)


class HeadListener:
    """The two tasks of one event loop; they run as long as the process.

    Args:
        rpc: The RPC interface whose chain is followed and whose subscribers are notified.
    """

    def __init__(self, rpc: EvmRpc) -> None:
        self._rpc = rpc
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._unbind: Callable[[], None] | None = None
        self._follower = Follower(directory_of(settings.NODE.common.directory))

    def start(self) -> None:
        """Begin to follow, on the running event loop; a second call does nothing."""
        if self._tasks:
            return
        loop = asyncio.get_running_loop()
        chain = self._rpc.chain
        self._unbind = chain.events.bind(loop, self._inbox.put_nowait, [chain.name])
        self._follower.begin()
        self._tasks = [loop.create_task(self._listen()), loop.create_task(self._tick())]

    async def stop(self) -> None:
        """End both tasks."""
        if self._unbind is not None:
            self._unbind()
            self._rpc.chain.progress = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._follower.end()

    async def _listen(self) -> None:
        while True:
            message = await self._inbox.get()
            try:
                await self._handle(message)
            except Exception:  # whatever it is, following continues
                _log.exception("an event could not be processed; the periodic check continues")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._reach_head()
                if settings.NODE.common.bootstrap:
                    self._rpc.chain.progress = await in_thread(_progress, self._rpc.chain.name)
            except blocks.NoGenesis:
                continue
            except Exception:  # as above
                _log.exception("the head could not be read")

    async def _handle(self, message: Message) -> None:
        if message["type"] == notifications.PENDING:
            await subscriptions.pending_transactions(self._rpc, message["hashes"])
        elif message["type"] == notifications.HEAD:
            await self._handle_head(message)
        elif message["type"] == notifications.REWOUND:
            self._rpc.heads.go_back(message["number"])
            await in_thread(blocks.catch_up, self._rpc.chain)

    async def _handle_head(self, message: Message) -> None:
        known = self._rpc.chain.memory.blocks.head
        if known is None or known.number < message["number"]:
            await self._reach_head(message["number"])
        else:
            for _ in range(TURNS_OF_ANSWER):
                await asyncio.sleep(0)
            await subscriptions.head_accepted(self._rpc, message["number"], message["hash"])

    async def _reach_head(self, announced: int = 0) -> None:
        head = await in_thread(blocks.catch_up, self._rpc.chain, announced)
        self._follower.note(self._rpc.chain.memory.generation)
        await subscriptions.head_accepted(self._rpc, head.number, head.hash)


def _progress(chain: str) -> SyncProgress | None:
    """Return a chain's progress towards its network's frontier; None once it is bootstrapped."""
    row = network.syncs().get(chain)
    if row is None or network.is_bootstrapped(chain):
        return None
    return SyncProgress(row.start_height, row.height, row.target_height)


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
            self._unbind = chain.events.bind(loop, self._hear, [chain.name])

    def stop(self) -> None:
        """Stop listening."""
        if self._unbind is not None:
            self._unbind()
            self._unbind = None

    def _hear(self, message: Message) -> None:
        if message["type"] == platform_notifications.HEAD:
            self._chain.answers.accepted(message["block_id"])
