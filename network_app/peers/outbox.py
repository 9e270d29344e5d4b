"""Messages sent to one peer: encoded, counted, and limited by the space that is available."""

import asyncio
import logging
import time
from collections.abc import Callable

from network_app.peers.counters import Counters
from network_app.peers.stream import Stream
from network_app.peers.unknown_peers import ReadThrottle, SendBufferLimit
from network_app.wire import framing
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import PackedMessage
from network_app.wire.p2p_pb2 import Message

LARGE_ANSWERS = frozenset({"get_ancestors", "app_request"})
"""Requests whose answers may fill a frame."""

_log = logging.getLogger(__name__)


class Outbox:
    """Sends messages immediately while the socket accepts them, and otherwise queues them in the stream.

    Args:
        stream: The connection.
        counters: Counters of the messages sent.
        throttle: The peer's read rate; a large request raises it so that the peer can answer.
        send_buffer: The limit on bytes queued for all unknown peers.
        is_stranger: Returns whether the peer is currently unknown.
        end: Closes the connection.
    """

    def __init__(
        self,
        stream: Stream,
        counters: Counters,
        throttle: ReadThrottle,
        send_buffer: SendBufferLimit,
        *,
        is_stranger: Callable[[], bool],
        end: Callable[[Exception], None],
    ) -> None:
        self._stream = stream
        self._counters = counters
        self._throttle = throttle
        self._send_buffer = send_buffer
        self._is_stranger = is_stranger
        self._loop = asyncio.get_running_loop()
        self.end = end
        self.last_sent = time.time()
        """Unix seconds."""

    @property
    def is_stranger(self) -> bool:
        """Whether the bytes queued here count against the limit for unknown peers."""
        return self._is_stranger()

    @property
    def unsent(self) -> int:
        """Number of queued bytes."""
        return self._stream.unsent

    @property
    def blocked_since(self) -> float | None:
        """When the peer stopped reading (the loop's time), None while it reads."""
        return self._stream.blocked_since

    def send(self, message: Message | PackedMessage) -> bool:
        """Send or queue a message; return False if that is impossible."""
        name = message.kind if isinstance(message, PackedMessage) else framing.kind(message)
        frame = self._frame(message)
        if frame is None or not self._stream.write(frame):
            self._counters.send_failed(name)
            return False
        if name in LARGE_ANSWERS:
            self._throttle.expect(framing.MAX_FRAME)
        self.last_sent = self._counters.message_sent(name, len(frame))
        return True

    def close(self) -> None:
        """Close the socket; queued messages are lost."""
        if lost := self._stream.close():
            self._counters.send_failed("queued", lost)

    def _frame(self, message: Message | PackedMessage) -> bytes | None:
        """Return a message's frame; None if there is no space for it or it cannot be encoded."""
        if isinstance(message, PackedMessage):
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
        return not self.is_stranger or self._send_buffer.has_room(self, size, self._loop.time())
