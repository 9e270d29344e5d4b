"""Incoming messages of one peer, from its bytes to their processing (p2p.md 2, 7).

Messages are read one after the other, each after the delay that the rate limit demands. Slow messages are processed
concurrently.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.peers.counters import Counters
from network_app.peers.errors import PeerError, PeerReason
from network_app.peers.stream import Stream
from network_app.peers.throttle import (
    MESSAGE_COST,
    BytePool,
    Lease,
    frame_cost,
    unpacking_cost,
)
from network_app.peers.unknown_peers import ReadThrottle
from network_app.ports import DONE, MessageHandler
from network_app.wire import framing
from network_app.wire.errors import UnreadableContent, UnreadableMessage
from network_app.wire.p2p_pb2 import Message
from primitives.ids import NodeID

AT_A_STRETCH = 16
"""Messages read in a row, if they have already arrived, before other connections get a turn."""
MAX_UNREADABLE = 8
"""Frames that no honest peer sends, after which a connection is closed. All before the last are tolerated."""
MAX_EARLY = 32
"""Frames read before the handshake is finished. Honest peers send three to five."""
LONGEST_NAP = 1.0
"""Seconds after which a waiting reader checks again, because its share may have grown."""

NOT_WORKED_OFF = "a message of %s was not worked off"

_log = logging.getLogger(__name__)


class HeldMessage(NamedTuple):
    """A message, and the bytes reserved for it until they are released."""

    kind: str
    message: Message
    lease: Lease


class IncomingMessages:
    """Reads frames no faster than the peer's rate allows, and only while the byte pool has space."""

    def __init__(
        self,
        node_id: NodeID,
        stream: Stream,
        throttle: ReadThrottle,
        pool: BytePool,
        counters: Counters,
    ) -> None:
        self._node_id = node_id
        self._stream = stream
        self._throttle = throttle
        self._pool = pool
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._read = 0
        self._owes = False
        """Whether the bytes read so far exceed the peer's rate."""
        self._unreadable = 0
        self.early = True
        """Whether the handshake is unfinished; until then little is read."""
        self.waiting_since: float | None = None
        """When this node began to wait for the peer's bytes (the loop's time); None while it does not read."""
        self.last_received = time.time()
        """Unix seconds."""

    async def next(self) -> HeldMessage | None:
        """Return the next message, or None for a frame that is unreadable.

        Raises:
            WireError: The peer announced a frame larger than the limit.
            PeerError: The connection has ended, or the peer keeps sending unreadable frames or frames before the end
                of its handshake.
        """
        # Bytes that have arrived, or are available immediately, are taken without an await: that saves time.
        prefix = self._stream.take(framing.PREFIX) or await self._wait_for(framing.PREFIX)
        size = framing.frame_size(prefix, early=self.early)
        self._read += 1
        if self.early or self._owes or self._read % AT_A_STRETCH == 0:
            await self._take_turn()
        reserved = size + MESSAGE_COST
        lease = self._pool.try_take(self._node_id, reserved)
        if lease is None:
            lease = await self._pool.take(self._node_id, reserved)
        message = None
        try:
            payload = self._stream.take(size) or await self._wait_for(size)
            # not earlier: a peer that announces a large frame and sends nothing must not cost others anything
            self.charge(frame_cost(size))
            unpacked = self._unpack(payload, lease)
            if isinstance(unpacked, int):  # keep the compressed payload while waiting
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
        return HeldMessage(kind, message, lease)

    def charge(self, cost: int) -> None:
        """Charge the peer's rate for work that a message causes."""
        self._owes = self._throttle.take(cost, self._loop.time(), alone=self.early) > 0

    async def _wait_for(self, size: int) -> bytes:
        self.waiting_since = self._loop.time()
        try:
            return await self._stream.read(size)
        finally:
            self.waiting_since = None

    async def _take_turn(self) -> None:
        """Wait until the previous messages are within the rate, and yield to the event loop now and then."""
        if self.early and self._read > MAX_EARLY:
            raise PeerError(PeerReason.TOO_MANY_EARLY, limit=MAX_EARLY)
        if self._read % AT_A_STRETCH == 0:
            await asyncio.sleep(0)
        while seconds := self._throttle.take(0, self._loop.time(), alone=self.early):
            await asyncio.sleep(min(seconds, LONGEST_NAP))
        self._owes = False

    def _unpack(self, payload: bytes, lease: Lease) -> Message | int:
        """Decompress and parse a frame. Its content needs space in the pool too and may exceed the frame.

        Returns:
            The message, or the number of bytes it needs beyond the space that is free now.
        """
        content = framing.unpack(payload, early=self.early)
        extra = len(content) - len(payload)
        if extra > 0:
            self.charge(unpacking_cost(len(payload), len(content)))
            if not self._pool.try_extend(lease, extra):
                return extra
        return framing.parse(content)

    def _hold_against(self, error: UnreadableMessage) -> None:
        """Charge the highest cost of a frame, because it is unknown how much of it was decompressed."""
        if not isinstance(error, UnreadableContent):
            return
        self.charge(unpacking_cost(0, framing.MAX_FRAME))
        self._unreadable += 1
        if self._unreadable >= MAX_UNREADABLE:
            raise PeerError(PeerReason.TOO_MANY_UNREADABLE, count=self._unreadable) from error

    def _note(self, kind: str, size: int) -> None:
        self.last_received = self._counters.received.count(kind, size + framing.PREFIX)


class Workload:
    """Messages processed concurrently, up to a limit that is lower for unknown peers.

    Each message keeps its lease until it is processed.
    """

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
        self._has_space = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    async def begin(self, message: Message, lease: Lease) -> None:
        """Pass a message to the handler as soon as the limit permits."""
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
        """Wait for the messages in progress; cancel those that take longer than `seconds`."""
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
            self._has_space.clear()
            await self._has_space.wait()

    def _done(self, task: asyncio.Future[None], *, lease: Lease) -> None:
        self._tasks.discard(task)
        self._has_space.set()
        self._pool.give_back(lease)
        if not task.cancelled() and (error := task.exception()):
            _log.error(NOT_WORKED_OFF, self._node_id, exc_info=error)
