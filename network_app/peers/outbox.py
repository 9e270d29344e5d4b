"""What is sent to one peer: encoded, counted, and held against the room that there is."""

import asyncio
import logging
import time
from collections.abc import Callable

from network_app.peers.counters import Counters
from network_app.peers.pace import Pace
from network_app.peers.strangers import SendRoom
from network_app.peers.stream import Stream
from network_app.wire import framing
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import Packed
from network_app.wire.p2p_pb2 import Message

LARGE_ANSWERS = frozenset({"get_ancestors", "app_request"})
"""Questions whose answers may fill a frame."""

_log = logging.getLogger(__name__)


class Outbox:
    """Sends at once what the socket takes; the rest waits in the stream's queue.

    Args:
        stream: The connection.
        counters: Where it is counted.
        pace: How fast the peer is read: it may answer what it is asked.
        room: What all strangers have to wait in.
        is_stranger: Whether the peer is one now.
        end: Closes the connection.
    """

    def __init__(
        self,
        stream: Stream,
        counters: Counters,
        pace: Pace,
        room: SendRoom,
        *,
        is_stranger: Callable[[], bool],
        end: Callable[[Exception], None],
    ) -> None:
        self._stream = stream
        self._counters = counters
        self._pace = pace
        self._room = room
        self._is_stranger = is_stranger
        self._loop = asyncio.get_running_loop()
        self.end = end
        self.last_sent = time.time()
        """Unix seconds."""

    @property
    def is_stranger(self) -> bool:
        """Whether what waits here takes of the strangers' room."""
        return self._is_stranger()

    @property
    def unsent(self) -> int:
        """Bytes that wait."""
        return self._stream.unsent

    @property
    def blocked_since(self) -> float | None:
        """Since when the peer takes nothing (the loop's time), None while it does."""
        return self._stream.blocked_since

    def send(self, message: Message | Packed) -> bool:
        """Send a message, or queue it; False if that cannot be done."""
        name = message.kind if isinstance(message, Packed) else framing.kind(message)
        frame = self._frame(message)
        if frame is None or not self._stream.write(frame):
            self._counters.send_failed(name)
            return False
        if name in LARGE_ANSWERS:
            self._pace.expect(framing.MAX_FRAME)
        self.last_sent = self._counters.message_sent(name, len(frame))
        return True

    def close(self) -> None:
        """Close the socket; what still waited is lost."""
        if lost := self._stream.close():
            self._counters.send_failed("queued", lost)

    def _frame(self, message: Message | Packed) -> bytes | None:
        """Return a message's frame; None if it need not be made or cannot be."""
        if isinstance(message, Packed):
            return message.frame if self._has_room(len(message.frame)) else None
        if not self._has_room(message.ByteSize()):
            return None
        try:
            return framing.encode(message)
        except MessageTooLarge as error:
            _log.error("a message of this node cannot be sent: %s", error)
            return None

    def _has_room(self, size: int) -> bool:
        if not self._stream.has_room():
            return False
        return not self.is_stranger or self._room.has_room(self, size, self._loop.time())
