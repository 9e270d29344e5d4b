"""Follows the chain in a web process: pointers come in, memory moves, subscribers are told.

One task listens to the channel layer (in the embedded profile, where nobody else is, to the
services themselves). Another looks at the database each second, for pointers that
were lost and for a layer that was away.
"""

import asyncio
import logging
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

from cchain_app import notifications
from cchain_app.api import subscriptions
from cchain_app.selectors import blocks
from chaindb.connections import in_thread

TICK = 1.0
"""Seconds between looks at the database."""

REJOIN = 3600
"""Ticks after which the group is joined again: a layer forgets members after a day."""

_log = logging.getLogger(__name__)


class Follower:
    """The two tasks of one event loop; they live as long as the process."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._layer: Any = get_channel_layer()
        self._channel = ""

    def start(self) -> None:
        """Begin to follow, on the running event loop; a second call does nothing."""
        if self._tasks:
            return
        loop = asyncio.get_running_loop()
        notifications.bind(loop, self._inbox.put_nowait)
        self._tasks = [loop.create_task(self._listen()), loop.create_task(self._tick())]

    async def stop(self) -> None:
        """End both tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _listen(self) -> None:
        while True:
            try:
                if settings.NODE.profile == "embedded":
                    while True:
                        await self._handle(await self._inbox.get())
                self._channel = await self._layer.new_channel()
                await self._layer.group_add(notifications.GROUP, self._channel)
                while True:
                    await self._handle(await self._layer.receive(self._channel))
            except Exception:  # whatever it is, following goes on
                _log.exception("listening to pointers failed; the tick goes on meanwhile")
                await asyncio.sleep(TICK)

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK)
            ticks += 1
            try:
                if ticks % REJOIN == 0 and self._channel:
                    await self._layer.group_add(notifications.GROUP, self._channel)
                await self._reach_head()
            except blocks.NoGenesis:
                continue
            except Exception:  # as above
                _log.exception("the head could not be read")

    async def _handle(self, message: dict[str, Any]) -> None:
        if message["type"] == "pending.transactions":
            await subscriptions.pending_transactions(message["hashes"])
            return
        known = blocks.memory().blocks.head
        if known is None or known.number < message["number"]:
            await self._reach_head()
        else:
            await subscriptions.head_accepted(message["number"], message["hash"])

    async def _reach_head(self) -> None:
        head = await in_thread(blocks.catch_up)
        await subscriptions.head_accepted(head.number, head.hash)
