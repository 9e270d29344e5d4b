"""Messages of one connection that are being worked off: those that take time beside each other (p2p.md 7)."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from network_app.config import NetworkConfig
from network_app.peers.throttle import BytePool, Lease
from network_app.ports import DONE, MessageHandler
from network_app.wire.p2p_pb2 import Message
from primitives.ids import NodeID

NOT_WORKED_OFF = "a message of %s was not worked off"

_log = logging.getLogger(__name__)


class Workload:
    """So many messages at a time, of a stranger few; each keeps its lease until it is done."""

    def __init__(
        self,
        node_id: NodeID,
        handler: MessageHandler,
        pool: BytePool,
        config: NetworkConfig,
        is_stranger: Callable[[], bool],
    ) -> None:
        self._node_id = node_id
        self._handler = handler
        self._pool = pool
        self._config = config
        self._is_stranger = is_stranger
        self._tasks: set[asyncio.Future[None]] = set()
        self._room = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    async def begin(self, message: Message, lease: Lease) -> None:
        """Hand a message to the rooms above once there is room for its work."""
        config = self._config
        limit = config.stranger_messages if self._is_stranger() else config.peer_messages
        if len(self._tasks) >= limit:
            try:
                await self._wait()
            except asyncio.CancelledError:
                self._pool.give_back(lease)
                raise
        try:
            work = self._handler.handle(self._node_id, message)
        except Exception:
            self._pool.give_back(lease)
            _log.exception(NOT_WORKED_OFF, self._node_id)
            return
        if work is DONE:
            self._pool.give_back(lease)
            return
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, lease=lease))

    async def settle(self, seconds: float) -> None:
        """Let what was begun be finished; what takes longer is cancelled."""
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=seconds)
        finally:
            left = list(self._tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _wait(self) -> None:
        config = self._config
        limit = config.stranger_messages if self._is_stranger() else config.peer_messages
        while len(self._tasks) >= limit:
            self._room.clear()
            await self._room.wait()

    def _done(self, task: asyncio.Future[None], *, lease: Lease) -> None:
        self._tasks.discard(task)
        self._room.set()
        self._pool.give_back(lease)
        if not task.cancelled() and (error := task.exception()):
            _log.error(NOT_WORKED_OFF, self._node_id, exc_info=error)
