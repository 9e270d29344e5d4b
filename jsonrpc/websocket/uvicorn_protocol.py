"""uvicorn's WebSocket protocol for untrusted clients: limited memory and time for incomplete messages.

This module depends on uvicorn 0.54's `WebSocketsSansIOProtocol` and on the reader of websockets 17 behind it; check
them when they are upgraded.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from typing_extensions import override
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.protocol import Event
from websockets.utils import apply_mask

from jsonrpc.dispatch.gate import RequestHead
from jsonrpc.errors import Overloaded
from jsonrpc.http.answering import Current
from jsonrpc.http.asgi_rpc import read_head
from jsonrpc.http.delivery import MinimumRate, WriteWatch
from jsonrpc.http.uvicorn_protocol import LINGER_BYTES, LINGER_SECONDS
from jsonrpc.limits.connections import Connections
from jsonrpc.limits.interpreter import Interpreter
from jsonrpc.limits.memory import MemoryShare, RequestMemory

FRAGMENT_COST: Final = 64
"""Bytes of memory for each fragment in addition to its content."""

AnswerAtOnce = Callable[[bytes], bool]
"""Answers a message if it can; returns whether it has."""

AnswerFrames = Callable[[bytes], int]
"""Answers the messages in the first frames of the data, as far as it can; returns the number of their bytes."""

_WHOLE_TEXT: Final = 0x81
"""The first byte of a text frame that is a complete message."""
_MASK_BIT: Final = 0x80
_IN_TWO_BYTES: Final = 126
_IN_EIGHT_BYTES: Final = 127
"""Values of the length field that announce a length in the following bytes."""
_LONG: Final = 65_536
"""Bytes of the shortest message whose length field has eight bytes."""
_MASKED: Final = 6
"""Bytes of the shortest head of a masked frame."""
_NEVER: Final = 1 << 62
"""More bytes than all frames of a connection can have."""
_SHORT: Final = 1_024
"""Bytes of the longest frame that is answered where it arrives."""

_SLICE: Final = 4_096
"""Bytes that are parsed in one step. They may hold hundreds of small frames, each parsed in Python."""

_IDLE_FRAMES: Final = 1_000
"""Frames without content, such as pings, that a peer may send between two messages ..."""
_IDLE_SECONDS: Final = 10.0
"""... and in this many seconds. A client that only listens is pinged, and may ping, for days."""


class GuardedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol with limits, which a subclass provides.

    The application gets messages as bytes: text is validated where it is decoded, in a thread.
    """

    held: Connections | None = None
    """Counts the connections of the process, if they are limited."""
    memory = RequestMemory()
    message_seconds = 30.0
    """Seconds that a message may take from its first byte to its last."""
    minimum_rate = MinimumRate()
    """How fast a peer must read queued output."""
    client: Any
    client_of: Callable[[RequestHead], str] = staticmethod(lambda head: head.peer)
    """Returns the key under which the client is counted."""
    answer_at_once: AnswerAtOnce | None = None
    """Called for a short message that arrives as one complete frame, while nothing else is in progress. The
    session sets it while its socket is open."""

    answer_frames: AnswerFrames | None = None
    """Called before `answer_at_once`, with all data that has arrived, which begins with such a frame."""

    unread_changed: Callable[[int], object] | None = None
    """Called with the number of unread bytes when they exceed the limit, and with 0 when they no longer do. The
    session sets it; it stays set after the session, as long as bytes are unread."""

    interpreter: Interpreter | None = None
    """Is notified of each immediate answer."""

    current: Current | None = None
    """Checked before messages if other processes may have announced events; None if there are none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fragments = 0
        self._share = MemoryShare(self.memory, self._client)
        """Memory of the incoming message."""
        self._unparsed = 0
        """Parsed bytes that belong to no complete frame; an upper bound."""
        self._ends_head = False
        """Whether the parsed bytes end like an opening handshake."""
        self._queued = 0
        """Bytes of complete messages that the application has not taken."""
        self._queued_share = MemoryShare(self.memory, self._client)
        self._idle_frames = 0
        self._idle_since = 0.0
        self._eventful = False
        """Whether the bytes parsed last contained a frame."""
        self._waiting: bytes | memoryview = b""
        """Unparsed bytes; while there are any, reading is paused."""
        self._waits_to_be_current = False
        """Whether those bytes wait until this process has caught up with the others' events."""
        self._turn: asyncio.Handle | None = None
        self._lingers = False
        """Whether the client was refused, and has a moment to read the reason."""
        self._dropped = 0
        """Bytes received since then."""
        self._message_timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """Return False: an open socket is never idle, because it may wait for events for days."""
        return False

    def make_room(self) -> None:
        """Close in favour of another connection."""
        self.transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._write_watch = WriteWatch(self.transport, self.minimum_rate)

    @override
    def data_received(self, data: bytes) -> None:
        if self._lingers:
            self._drop(data)
        elif self._waiting:
            self._waiting = bytes(self._waiting) + data
        else:
            self._process(data)

    def _wait_to_be_current(self, data: bytes, current: Current) -> None:
        self._waiting = data
        self._waits_to_be_current = True
        self.transport.pause_reading()
        current.when_current(self._is_current)

    def _is_current(self) -> None:
        self._waits_to_be_current = False
        if not self.transport.is_closing():
            self._go_on()

    def _process(self, data: bytes) -> None:
        """Answer the leading complete frames (RFC 6455, 5.2) by the shortcut; parse the remaining bytes.

        Many frames that arrive together are answered with one write. The frames after them wait for the loop's next
        turn, and so do those after a frame that has to be parsed.
        """
        if self.current is not None and not self.current.is_current():
            self._wait_to_be_current(data, self.current)
            return
        answer = self.answer_at_once
        if answer is None or data[0] != _WHOLE_TEXT or not self._is_at_rest():
            self._parse(memoryview(data), _SLICE)
            return
        done = 0 if self.answer_frames is None else self.answer_frames(data)
        if not done:
            size = _short_frame(data)
            if not size or not answer(_message_in(data[:size])):
                self._parse(memoryview(data), size or _SLICE)
                return
            done = size
        self._idle_frames = 0
        if (interpreter := self.interpreter) is not None and interpreter.needed_by:
            interpreter.give_way(self.loop)
        if done < len(data) and not self._is_over():
            self._wait_for_turn(memoryview(data)[done:])

    def _is_at_rest(self) -> bool:
        """Return whether no message is incomplete or queued, and the peer has read all output."""
        return not (
            self.read_paused
            or self._fragments
            or self._unparsed
            or self.close_sent
            or not self.queue.empty()
            or not self.writable.is_set()
            or self.transport.is_closing()
        )

    def _parse(self, data: memoryview, size: int) -> None:
        """Parse bytes in slices; yield to other tasks after frames, and to the application after a message.

        Args:
            data: The bytes.
            size: The size of the first slice.
        """
        self._eventful = False
        while data and not self._eventful and not self._is_over():
            self._take(data[:size])
            data = data[size:]
            size = _SLICE
        if data and not self._is_over():
            self._wait_for_turn(data)

    def _wait_for_turn(self, data: memoryview) -> None:
        """Read nothing more until these bytes are processed, in a later turn of the loop."""
        self._waiting = data
        self.transport.pause_reading()
        self._go_on()

    def _go_on(self) -> None:
        """Process the waiting bytes in the loop's next turn, if earlier messages and replies are taken."""
        if self._waiting and self._turn is None and self._is_ready():
            self._turn = self.loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._turn = None
        if not self._is_ready() or self._is_over():
            return
        received, self._waiting = bytes(self._waiting), b""
        self._process(received)
        if not self._waiting and self._is_ready() and not self._is_over():
            self.transport.resume_reading()

    def _is_ready(self) -> bool:
        """Return whether the application has taken all messages, the peer has read all output, and nothing waits."""
        return not (self._waits_to_be_current or self.read_paused) and self.writable.is_set()

    def _take(self, data: memoryview) -> None:
        """Parse a slice, and count the rest that belongs to an incomplete message."""
        self._unparsed += len(data)
        self._ends_head = bytes(data[-4:]) == b"\r\n\r\n"
        super().data_received(data)  # type: ignore[arg-type]  # it is only appended to a bytearray
        size = self._fragments + len(self.conn.reader.buffer)
        if not size:
            self._forget_message()
        elif not self.close_sent and not self.transport.is_closing():
            self._hold(size)

    @override
    def handle_events(self) -> None:
        self._eventful = bool(self.conn.events)
        for event in self.conn.events:
            self._count_parsed(event)
        super().handle_events()

    def _count_parsed(self, event: Event) -> None:
        """Subtract a frame's bytes from the unparsed ones; for the opening, all if nothing else arrived with it."""
        if isinstance(event, Frame):
            size = len(event.data)
            length = 0 if size < _IN_TWO_BYTES else 2 if size < _LONG else 8
            self._unparsed -= _MASKED + length + size
        else:
            self._unparsed = 0 if self._ends_head else _NEVER

    @override
    def handle_ping(self) -> None:
        if not self.transport.is_closing():
            super().handle_ping()
            self._count_idle()

    @override
    def handle_pong(self, event: Frame) -> None:
        if not self.transport.is_closing():
            super().handle_pong(event)
            self._count_idle()

    def _count_idle(self) -> None:
        """Count a frame without content; close the connection of a peer that sends nothing else."""
        now = self.loop.time()
        if now - self._idle_since > _IDLE_SECONDS:
            self._idle_since, self._idle_frames = now, 0
        self._idle_frames += 1
        if self._idle_frames > _IDLE_FRAMES:
            self._give_up(CloseCode.POLICY_VIOLATION, "too many frames without a message")

    @override
    def handle_text(self, event: Frame) -> None:
        self._fragments = len(event.data) + FRAGMENT_COST
        super().handle_text(event)

    @override
    def handle_bytes(self, event: Frame) -> None:
        self._fragments = len(event.data) + FRAGMENT_COST
        super().handle_bytes(event)

    @override
    def handle_cont(self, event: Frame) -> None:
        self._fragments += len(event.data) + FRAGMENT_COST
        super().handle_cont(event)
        if not event.data and not event.fin:
            self._count_idle()

    @override
    def send_receive_event_to_app(self) -> None:
        self._fragments = self._idle_frames = 0
        self._forget_message()
        if not self.close_sent:
            size = sum(map(len, self.frames))
            try:
                self._queued_share.grow(self._queued + size)
            except Overloaded:
                self._give_up(CloseCode.TRY_AGAIN_LATER, "server is busy")
            else:
                self._queued += size
        self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()  # which drops the message if a close was sent

    @override
    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        if message["type"] == "websocket.receive":
            # The application accounts for the messages that it takes, so the queue's share shrinks.
            self._queued = max(0, self._queued - len(message.get("bytes") or b""))
            self._queued_share.give_back()
            self._queued_share.grow(self._queued)
        self._keep_paused()
        return message

    @override
    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            # A refusal was sent as a response. uvicorn would log an error for each while this is unset.
            self.handshake_complete = True
        self._keep_paused()  # uvicorn resumes reading after a close

    def _keep_paused(self) -> None:
        """Pause reading again until the waiting bytes are parsed, if uvicorn has resumed it."""
        if self._waiting and not self.read_paused and not self.transport.is_closing():
            self.transport.pause_reading()
            self._go_on()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._waiting = b""
        self._queued = 0
        self._forget_message()
        self._queued_share.give_back()
        self._write_watch.stop()
        if self._lingers and self.close_timer is not None:
            self.close_timer.cancel()
        self._report_unread(0)
        if self.held is not None:
            self.held.leave(self)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        # Every ping is answered, so a peer that sends pings and does not read could fill the memory.
        self.transport.pause_reading()
        self._write_watch.begin()
        self._report_unread(self.transport.get_write_buffer_size())

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_watch.stop()
        self._report_unread(0)
        if self._waiting:
            self._go_on()
        elif not self.read_paused:
            self.transport.resume_reading()

    def _report_unread(self, size: int) -> None:
        if self.unread_changed is not None:
            self.unread_changed(size)

    def _hold(self, size: int) -> None:
        """Count the bytes and the time of an incomplete message."""
        if self._message_timer is None:
            self._message_timer = self.loop.call_later(self.message_seconds, self._too_slow)
        try:
            self._share.grow(size)
        except Overloaded:
            self._give_up(CloseCode.TRY_AGAIN_LATER, "server is busy")

    def _too_slow(self) -> None:
        """Close a peer whose message is incomplete for too long, unless reading is paused on this side."""
        if self._waiting or not self._is_ready():
            self._message_timer = self.loop.call_later(self.message_seconds, self._too_slow)
        else:
            self._give_up(CloseCode.POLICY_VIOLATION, "message did not arrive in time")

    def _client(self) -> str:
        """Return the key under which the client is counted."""
        return self.client_of(read_head({**self.scope}))

    def _forget_message(self) -> None:
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None
        self._share.give_back()

    def _give_up(self, code: CloseCode, reason: str) -> None:
        self._forget_message()
        if self.close_sent or self.transport.is_closing():
            return
        self.conn.fail(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._linger(code)

    @override
    def handle_parser_exception(self) -> None:
        assert self.conn.close_sent is not None
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._linger(self.conn.close_sent.code)

    def _linger(self, code: int) -> None:
        """End the application, and close after the peer had time to read the reason.

        With an immediate close, a peer that is sending would see a reset instead of the reason.
        """
        self._lingers = self.disconnected = True
        self._waiting, self.frames = b"", []
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code})
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        self.transport.resume_reading()

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.transport.pause_reading()

    def _is_over(self) -> bool:
        """Return whether further bytes of the peer are ignored."""
        return self._lingers or self.transport.is_closing()


def _short_frame(data: bytes) -> int:
    """Return the size of the first frame if it is complete and has a short text message with content, else 0."""
    if len(data) <= _MASKED or data[0] != _WHOLE_TEXT:
        return 0
    size = data[1] - _MASK_BIT
    if size == _IN_EIGHT_BYTES:
        return 0
    if size == _IN_TWO_BYTES:
        size = int.from_bytes(data[2:4], "big") + 2
    size += _MASKED
    return size if _MASKED < size <= min(len(data), _SHORT) else 0


def _message_in(frame: bytes) -> bytes:
    """Return the message in a client's frame, whose length has at most two additional bytes."""
    start = 4 if frame[1] - _MASK_BIT == _IN_TWO_BYTES else 2
    return apply_mask(frame[start + 4 :], frame[start : start + 4])
