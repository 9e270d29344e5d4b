"""The messages of one peer, from its bytes to the work that they are (p2p.md 2, 7).

They are read one after the other, each after it was waited for long enough; those that take time are worked off
beside each other.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.peers.counters import Counters
from network_app.peers.errors import TooManyEarly, TooManyUnreadable
from network_app.peers.pace import Pace
from network_app.peers.stream import Stream
from network_app.peers.throttle import (
    MESSAGE_COST,
    BytePool,
    Lease,
    frame_cost,
    unpacking_cost,
)
from network_app.ports import DONE, MessageHandler
from network_app.wire import framing
from network_app.wire.errors import Unreadable, UnreadableMessage
from network_app.wire.p2p_pb2 import Message
from primitives.ids import NodeID

AT_A_STRETCH = 16
"""Messages that are read before others have a turn, when all are there already."""
MOST_UNREADABLE = 8
"""Frames of a connection that no honest peer sends, and that are forgiven but for the last."""
MOST_EARLY = 32
"""Frames that are read before the handshake is finished. Honest peers send three to five."""
LONGEST_NAP = 1.0
"""Seconds after which a reader that waits looks anew: others may have left it more to read."""

NOT_WORKED_OFF = "a message of %s was not worked off"

_log = logging.getLogger(__name__)


class Held(NamedTuple):
    """A message, and the bytes that it takes until they are given back."""

    kind: str
    message: Message
    lease: Lease


class IncomingMessages:
    """Reads frames no faster than the peer's pace, and only while there is room in the pool."""

    def __init__(
        self, node_id: NodeID, stream: Stream, pace: Pace, pool: BytePool, counters: Counters
    ) -> None:
        self._node_id = node_id
        self._stream = stream
        self._pace = pace
        self._pool = pool
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._read = 0
        self._owes = False
        """Whether what was read is not paid for."""
        self._unreadable = 0
        self.early = True
        """Whether the handshake is not finished: until then little is read."""
        self.waiting_since: float | None = None
        """Since when the peer lets us wait for bytes (the loop's time); None while we let it wait."""
        self.last_received = time.time()
        """Unix seconds."""

    async def next(self) -> Held | None:
        """Return the next message; None for a frame of which none is read.

        Raises:
            FrameTooLarge: The peer announced more than a frame may have.
            TooManyEarly: It sends on and on and does not finish its handshake.
            TooManyUnreadable: It sends what nobody can read, again and again.
            PeerError: The connection is over.
        """
        # What is there already, or may be had at once, is not waited for: that alone takes time.
        prefix = self._stream.take(framing.PREFIX) or await self._wait_for(framing.PREFIX)
        size = framing.frame_size(prefix, early=self.early)
        self._read += 1
        if self.early or self._owes or self._read % AT_A_STRETCH == 0:
            await self._take_turn()
        room = size + MESSAGE_COST
        lease = self._pool.try_take(self._node_id, room)
        if lease is None:
            lease = await self._pool.take(self._node_id, room)
        message = None
        try:
            payload = self._stream.take(size) or await self._wait_for(size)
            # not before: who announces much and sends nothing costs nobody anything
            self.charge(frame_cost(size))
            unpacked = self._unpack(payload, lease)
            if isinstance(unpacked, int):  # while it waits it is kept as it came
                await self._pool.extend(lease, unpacked)
                unpacked = framing.decode(payload)
            message = unpacked
        except UnreadableMessage as error:
            self._note("unreadable", size)
            self._hold_against(error)
            return None
        finally:
            if message is None:
                self._pool.give_back(lease)
        kind = framing.kind(message)
        self._note(kind, size)
        return Held(kind, message, lease)

    def charge(self, cost: int) -> None:
        """Take more of what the peer may send, for work that it causes."""
        self._owes = self._pace.take(cost, self._loop.time(), alone=self.early) > 0

    async def _wait_for(self, size: int) -> bytes:
        self.waiting_since = self._loop.time()
        try:
            return await self._stream.read(size)
        finally:
            self.waiting_since = None

    async def _take_turn(self) -> None:
        """Wait until what came before is paid for, and leave the loop to others now and then."""
        if self.early and self._read > MOST_EARLY:
            raise TooManyEarly(MOST_EARLY)
        if self._read % AT_A_STRETCH == 0:
            await asyncio.sleep(0)
        while seconds := self._pace.take(0, self._loop.time(), alone=self.early):
            await asyncio.sleep(min(seconds, LONGEST_NAP))
        self._owes = False

    def _unpack(self, payload: bytes, lease: Lease) -> Message | int:
        """Unpack a frame. What is in it takes room too, and there may be more than came.

        Returns:
            The message, or the bytes that it takes more than there is room for now.
        """
        content = framing.unpack(payload, early=self.early)
        extra = len(content) - len(payload)
        if extra > 0:
            self.charge(unpacking_cost(len(payload), len(content)))
            if not self._pool.try_extend(lease, extra):
                return extra
        return framing.parse(content)

    def _hold_against(self, error: UnreadableMessage) -> None:
        """Charge the dearest that a frame can be: how far it was unpacked is not known."""
        if not isinstance(error, Unreadable):
            return
        self.charge(unpacking_cost(0, framing.MAX_FRAME))
        self._unreadable += 1
        if self._unreadable >= MOST_UNREADABLE:
            raise TooManyUnreadable(self._unreadable) from error

    def _note(self, kind: str, size: int) -> None:
        self.last_received = self._counters.received.count(kind, size + framing.PREFIX)


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
