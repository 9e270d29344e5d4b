"""uvicorn's WebSocket protocol for strangers: bounded memory and time for a message that is not whole yet.

Knows uvicorn 0.54's `WebSocketsSansIOProtocol` and the reader of websockets 17 behind it; look at
them again when they move.
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
from jsonrpc.http.asgi_rpc import read_head
from jsonrpc.http.current import Current
from jsonrpc.http.peer import LeastRate, WriteWatch
from jsonrpc.http.uvicorn_protocol import LINGER_BYTES, LINGER_SECONDS
from jsonrpc.limits.connections import Connections
from jsonrpc.limits.interpreter import Interpreter
from jsonrpc.limits.memory import RequestMemory, Share

FRAGMENT_COST: Final = 64
"""Bytes of memory that each fragment needs besides its content."""

AnswerAtOnce = Callable[[bytes], bool]
"""Answers a message, or the frame that one is, if it can; whether it has."""

_WHOLE_TEXT: Final = 0x81
"""The first byte of a frame of text that is a whole message."""
_MASK_BIT: Final = 0x80
_IN_TWO_BYTES: Final = 126
_IN_EIGHT_BYTES: Final = 127
"""Lengths that stand for where the length is."""
_LONG: Final = 65_536
"""Bytes of the shortest message whose length needs eight bytes."""
_MASKED: Final = 6
"""Bytes of the shortest masked frame's head."""
_NEVER: Final = 1 << 62
"""More than all frames of a connection have."""
_SHORT: Final = 1_024
"""Bytes of the longest frame that is answered where it arrives."""

_SLICE: Final = 4_096
"""Bytes that are parsed in one go: of the smallest frames they hold hundreds, each parsed in Python."""

_IDLE_FRAMES: Final = 1_000
"""Frames that say nothing, of which a peer may send so many between two messages ..."""
_IDLE_SECONDS: Final = 10.0
"""... and in so long. Who only listens is pinged, and may ping, for days."""


class GuardedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol with its limits, which a subclass gives.

    Messages go to the application as bytes: text is checked where it is decoded, in a thread.
    """

    held: Connections | None = None
    """Counts the connections of the process, if they are limited."""
    memory = RequestMemory()
    message_seconds = 30.0
    """So long a message may take from its first byte to its last."""
    least_rate = LeastRate()
    """How fast a peer takes what waits for it."""
    client: Any
    client_of: Callable[[RequestHead], str] = staticmethod(lambda head: head.peer)
    """By which name the client is counted."""
    answer_at_once: AnswerAtOnce | None = None
    """Is asked for short messages that came whole, in one piece, while nothing else is under way. The
    session sets it while its socket is open."""

    answer_frame: AnswerAtOnce | None = None
    """Is asked before it, for their frames."""

    unread_changed: Callable[[int], object] | None = None
    """Hears how many bytes wait for the peer when they have become too many, and 0 when they no longer are. The
    session sets it; it outlasts that, as what waits does."""

    interpreter: Interpreter | None = None
    """Hears of each message that was answered at once."""

    current: Current | None = None
    """Is asked before messages where other processes may have told of something; None: there are none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fragments = 0
        self._share = Share(self.memory, self._client)
        """For the message that comes."""
        self._unparsed = 0
        """Bytes that were parsed and are of no whole frame; rather more of them than there are."""
        self._ends_head = False
        """Whether what is parsed ends as an opening ends."""
        self._queued = 0
        """Bytes of whole messages that the application has not taken."""
        self._queued_share = Share(self.memory, self._client)
        self._idle_frames = 0
        self._idle_since = 0.0
        self._eventful = False
        """Whether there was a frame in the bytes that were parsed last."""
        self._waiting: bytes | memoryview = b""
        """What is not parsed; while there is something, nothing more is read."""
        self._waits_to_be_current = False
        """Whether what waits does so until this process knows what others have told."""
        self._turn: asyncio.Handle | None = None
        self._lingers = False
        """Whether it was refused, and has a moment to read why."""
        self._dropped = 0
        """Bytes that came since."""
        self._message_timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """Return that an open socket is never idle: it may wait for events for days."""
        return False

    def make_room(self) -> None:
        """Close for another connection's sake."""
        self.transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._write_watch = WriteWatch(self.transport, self.least_rate)

    @override
    def data_received(self, data: bytes) -> None:
        if self._lingers:
            self._drop(data)
        elif self._waiting:
            self._waiting = bytes(self._waiting) + data
        elif self.current is not None and not self.current.is_current():
            self._wait_to_be_current(data, self.current)
        elif self.answer_at_once is None or not self._is_answered(data, self.answer_at_once):
            self._parse(memoryview(data))

    def _wait_to_be_current(self, data: bytes, current: Current) -> None:
        self._waiting = data
        self._waits_to_be_current = True
        self.transport.pause_reading()
        current.when_current(self._is_current)

    def _is_current(self, _could_be: bool) -> None:  # noqa: FBT001  # as it is called
        self._waits_to_be_current = False
        if not self.transport.is_closing():
            self._go_on()

    def _is_answered(self, data: bytes, answer: AnswerAtOnce) -> bool:
        """Have a message answered that is one frame (RFC 6455, 5.2), and nothing else; whether it was.

        Anything else is for the parser.
        """
        if data[0] != _WHOLE_TEXT or not _MASKED < len(data) <= _SHORT or not self._is_at_rest():
            return False
        by_frame = self.answer_frame is not None and self.answer_frame(data)
        if not by_frame and not _is_message_answered(data, answer):
            return False
        self._idle_frames = 0
        if (interpreter := self.interpreter) is not None and interpreter.needed_by:
            interpreter.give_way(self.loop)
        return True

    def _is_at_rest(self) -> bool:
        """Return whether no message is coming or waits, and the peer has taken what was written."""
        return not (
            self.read_paused
            or self._fragments
            or self._unparsed
            or self.close_sent
            or not self.queue.empty()
            or not self.writable.is_set()
            or self.transport.is_closing()
        )

    def _parse(self, rest: memoryview) -> None:
        """Parse bytes in slices; after frames others have their turn, after a message the application."""
        self._eventful = False
        while rest and not self._eventful and not self._is_over():
            self._take(rest[:_SLICE])
            rest = rest[_SLICE:]
        if rest and not self._is_over():
            self._waiting = rest
            self.transport.pause_reading()
            self._go_on()

    def _go_on(self) -> None:
        """Parse what waits in the loop's next turn, if the peer's messages and replies are taken."""
        if self._waiting and self._turn is None and self._takes():
            self._turn = self.loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._turn = None
        if not self._takes() or self._is_over():
            return
        rest, self._waiting = memoryview(self._waiting), b""
        self._parse(rest)
        if not self._waiting and self._takes() and not self._is_over():
            self.transport.resume_reading()

    def _takes(self) -> bool:
        """Return whether the application has taken the messages, and the peer what was written; and nothing else waits."""
        return not (self._waits_to_be_current or self.read_paused) and self.writable.is_set()

    def _take(self, data: memoryview) -> None:
        """Have a slice parsed, and count what it leaves of a message that is not whole."""
        self._unparsed += len(data)
        self._ends_head = bytes(data[-4:]) == b"\r\n\r\n"
        super().data_received(data)  # type: ignore[arg-type]  # it is only added to a bytearray
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
        """Take a frame's bytes from those that are of no whole one; the opening's, if nothing came with it."""
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
        """Count a frame that says nothing; who sends nothing else has to go."""
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
        super().send_receive_event_to_app()  # which drops it where a close was sent

    @override
    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        if message["type"] == "websocket.receive":
            # The application counts what it takes; what stays in the queue is less than before.
            self._queued = max(0, self._queued - len(message.get("bytes") or b""))
            self._queued_share.give_back()
            self._queued_share.grow(self._queued)
        self._hold_back()
        return message

    @override
    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            # A refusal that was sent as a response. uvicorn logs an error for each as long as this is unset.
            self.handshake_complete = True
        self._hold_back()  # after a close uvicorn reads on

    def _hold_back(self) -> None:
        """Parse what waits before more is read, where uvicorn has begun to read again."""
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
        self._tell_unread(0)
        if self.held is not None:
            self.held.leave(self)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        # Every ping is answered: who sends them and does not read would fill the memory.
        self.transport.pause_reading()
        self._write_watch.begin()
        self._tell_unread(self.transport.get_write_buffer_size())

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_watch.stop()
        self._tell_unread(0)
        if self._waiting:
            self._go_on()
        elif not self.read_paused:
            self.transport.resume_reading()

    def _tell_unread(self, size: int) -> None:
        if self.unread_changed is not None:
            self.unread_changed(size)

    def _hold(self, size: int) -> None:
        """Count a message that has begun: its bytes and its time."""
        if self._message_timer is None:
            self._message_timer = self.loop.call_later(self.message_seconds, self._too_slow)
        try:
            self._share.grow(size)
        except Overloaded:
            self._give_up(CloseCode.TRY_AGAIN_LATER, "server is busy")

    def _too_slow(self) -> None:
        """Close who has not sent a message's end, unless it may wait where it is not read."""
        if self._waiting or not self._takes():
            self._message_timer = self.loop.call_later(self.message_seconds, self._too_slow)
        else:
            self._give_up(CloseCode.POLICY_VIOLATION, "message did not arrive in time")

    def _client(self) -> str:
        """By which name the peer is counted."""
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
        """End the application, and close when the peer has had time to read why.

        Closed at once, while it sends, it would see a reset in place of the reason.
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
        """Return whether nothing more of the peer is for anybody."""
        return self._lingers or self.transport.is_closing()


def _is_message_answered(data: bytes, answer: AnswerAtOnce) -> bool:
    """Have the message in a short frame of text answered, unless there is more or less of it; whether it was."""
    size, start = data[1] - _MASK_BIT, 2
    if size == _IN_EIGHT_BYTES:
        return False
    if size == _IN_TWO_BYTES:
        size, start = int.from_bytes(data[2:4], "big"), 4
    if len(data) != start + 4 + size:
        return False
    return answer(apply_mask(data[start + 4 :], data[start : start + 4]))
