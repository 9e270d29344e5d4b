"""Messages of one connection that are being worked off, each in a task (p2p.md 7)."""

import asyncio
import logging

from network_app.peers.throttle import BytePool, Lease
from network_app.ports import MessageHandler
from network_app.wire.p2p_pb2 import Message
from primitives.ids import NodeID

_log = logging.getLogger(__name__)


class Workload:
    """At most `limit` messages at a time; each keeps its lease until it is done."""

    def __init__(
        self, node_id: NodeID, handler: MessageHandler, pool: BytePool, limit: int
    ) -> None:
        self._node_id = node_id
        self._handler = handler
        self._pool = pool
        self._limit = limit
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    async def room(self) -> None:
        """Wait until one more message may be begun."""
        while len(self._tasks) >= self._limit:
            self._room.clear()
            await self._room.wait()

    def begin(self, message: Message, lease: Lease) -> None:
        """Hand a message to the rooms above."""
        work = self._handler.handle(self._node_id, message)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._done(done, lease))

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

    def _done(self, task: asyncio.Task[None], lease: Lease) -> None:
        self._tasks.discard(task)
        self._room.set()
        self._pool.give_back(lease)
        if not task.cancelled() and (error := task.exception()):
            _log.error("a message of %s was not worked off", self._node_id, exc_info=error)
