"""uvicorn's WebSocket protocol for strangers: bounded memory and time for a message that is not whole yet.

Knows uvicorn 0.54's `WebSocketsSansIOProtocol` and the reader of websockets 17 behind it; look at
them again when they move.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from jsonrpc.asgi import read_head
from jsonrpc.connections import Connections
from jsonrpc.errors import Overloaded
from jsonrpc.gate import Head
from jsonrpc.memory import RequestMemory, Share

FRAGMENT_COST: Final = 64
"""Bytes of memory that each fragment needs besides its content."""


class GuardedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol with its limits, which a subclass gives.

    Messages go to the application as bytes: text is checked where it is decoded, in a thread.
    """

    held: Connections | None = None
    """Counts the connections of the process, if they are limited."""
    memory = RequestMemory()
    message_seconds = 30.0
    """So long a message may take from its first byte to its last."""
    write_seconds = 30.0
    """So long a peer may take nothing of what waits for it."""
    client: Any
    client_of: Callable[[Head], str] = staticmethod(lambda head: head.peer)
    """By which name the client is counted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._whole = 0
        """Messages that have come so far."""
        self._fragments = 0
        self._share: Share | None = None
        self._message_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """Return that an open socket is never idle: it may wait for events for days."""
        return False

    def make_room(self) -> None:
        """Close for another connection's sake."""
        self.transport.abort()

    @override
    def data_received(self, data: bytes) -> None:
        before = self._whole
        super().data_received(data)
        if self._whole != before:
            self._forget_message()
        size = self._fragments + len(self.conn.reader.buffer)
        if not size:
            self._forget_message()
        elif not self.close_sent and not self.transport.is_closing():
            self._hold(size)

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

    @override
    def send_receive_event_to_app(self) -> None:
        self._whole += 1
        self._fragments = 0
        self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget_message()
        self._stop_watching()
        if self.held is not None:
            self.held.leave(self)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        # Every ping is answered: who sends them and does not read would fill the memory.
        self.transport.pause_reading()
        self._watch_writing()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()
        if not self.read_paused:
            self.transport.resume_reading()

    def _hold(self, size: int) -> None:
        """Count a message that has begun: its bytes and its time."""
        if self._message_timer is None:
            self._message_timer = self.loop.call_later(
                self.message_seconds,
                self._give_up,
                CloseCode.POLICY_VIOLATION,
                "message did not arrive in time",
            )
        if self._share is None:
            self._share = Share(self.memory, lambda: self.client_of(read_head({**self.scope})))
        try:
            self._share.grow(size)
        except Overloaded:
            self._give_up(CloseCode.TRY_AGAIN_LATER, "server is busy")

    def _forget_message(self) -> None:
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None
        if self._share is not None:
            self._share.give_back()

    def _give_up(self, code: CloseCode, reason: str) -> None:
        self._forget_message()
        if self.close_sent or self.transport.is_closing():
            return
        self.conn.fail(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()

    def _watch_writing(self, before: int | None = None) -> None:
        """Cut the socket off when its peer has taken nothing for too long."""
        waiting = self.transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            self.transport.abort()
            return
        self._write_timer = self.loop.call_later(self.write_seconds, self._watch_writing, waiting)

    def _stop_watching(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
