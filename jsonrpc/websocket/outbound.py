"""The outbound side of WebSockets: notifications of subscribers, and the writer of each socket.

An event is encoded once; only the subscription's id differs between sockets. A message is written immediately if the
peer keeps up, else queued. The queue is bounded, and so is the total of all sockets. A peer that is too slow is closed
with a reason and delays no other peer. Everything here runs in the event loop's thread.
"""

import asyncio
import logging
from collections import deque
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field
from itertools import accumulate, islice, takewhile
from typing import Any, Final, Protocol

from jsonrpc.http import delivery
from jsonrpc.http.delivery import DirectWrite, direct_write, writable
from jsonrpc.limits.memory import UnreadMemory

Send = Callable[[MutableMapping[str, Any]], Coroutine[Any, Any, None]]

GOING_AWAY: Final = 1001
"""The close code when the service ends, such as a chain that does not exist any more (RFC 6455, 7.4.1)."""
TRY_AGAIN_LATER: Final = 1013
"""The close code for a slow reader, after which clients reconnect and resubscribe."""

_TOO_SLOW: Final = "too slow: messages wait for too long"

_MESSAGE_COST: Final = 64
"""Bytes of memory for each queued message in addition to its text."""

_log: Final = logging.getLogger("jsonrpc")

WORK_AT_ONCE: Final = 8_192
"""Notifications written before other work gets a turn: about two milliseconds."""

WORK_OF_FIRST_PIECE: Final = 512
"""Notifications in the first of many pieces for a socket: its client reads them while the next pieces, each twice as
large, are prepared."""

WORK_OF_PUSH: Final = 32
"""Cost of one write to a socket, in notifications."""

BYTES_OF_WORK: Final = 256
"""Bytes of a notification that cost as much as another notification, because they are copied a few times."""


Result = bytes | memoryview
"""An encoded result."""


class Sink(Protocol):
    """The socket's side of a subscription."""

    def push(self, text: bytes) -> None:
        """Send a text message, or queue it; never waits."""

    def push_all(self, begin: bytes, middles: Sequence[Result], end: bytes) -> None:
        """Send text messages with a common beginning and end, in one write if possible; never waits."""

    def is_gone(self) -> bool:
        """Return whether its peer has disconnected. Can be called in any thread."""

    async def close(self, code: int, reason: str) -> None:
        """Close after the messages already sent; queued ones are dropped."""


@dataclass(slots=True, eq=False)
class Subscription:
    """One subscription of one connection.

    `payload` belongs to the chain (a filter, a flag); `prefix` is the notification's text before its
    result. The hub sets `is_active`, and clears it when the subscription ends.
    """

    id: str
    topic: str
    payload: object
    sink: Sink
    prefix: bytes = field(repr=False)
    is_active: bool = False


async def notify(subscriptions: Iterable[Subscription], results: Iterable[Result]) -> int:
    """Send encoded results to each of some subscriptions, unless it has ended; return the number reached.

    Many results are sent in pieces, each to all subscriptions before the next one. Between two pieces, and after
    `WORK_AT_ONCE`, the event loop gets a turn, in which subscriptions may end.
    """
    members = list(subscriptions)
    reached = done = 0
    for place, (piece, work) in enumerate(_pieces(results)):
        if done > 0:
            done = 0
            await asyncio.sleep(0)
        for subscription in members:
            if not subscription.is_active:
                continue
            reached += place == 0
            _push(subscription, piece)
            done += WORK_OF_PUSH + work
            if done >= WORK_AT_ONCE:
                done = 0
                await asyncio.sleep(0)
    return reached


def _pieces(results: Iterable[Result]) -> Iterator[tuple[list[Result], int]]:
    """Yield results in pieces that are written together, each with its cost."""
    work_limit = WORK_OF_FIRST_PIECE
    piece: list[Result] = []
    work = 0
    for result in results:
        more = 1 + len(result) // BYTES_OF_WORK
        if piece and work + more > work_limit:
            yield piece, work
            piece, work, work_limit = [], 0, min(2 * work_limit, WORK_AT_ONCE)
        piece.append(result)
        work += more
    if piece:
        yield piece, work


def _push(subscription: Subscription, results: Sequence[Result]) -> None:
    """Send results to a subscription, as notifications."""
    if len(results) == 1:
        subscription.sink.push(b"".join((subscription.prefix, results[0], b"}}")))
    else:
        subscription.sink.push_all(subscription.prefix, results, b"}}")


@dataclass(frozen=True, slots=True)
class OutboundLimits:
    """Limits of one peer's queue: messages, their bytes, and the seconds that one write may take."""

    messages: int = 10_000
    bytes: int = 16_000_000
    seconds: float = 10.0


class SocketWriter:
    """Writes to one socket.

    `send` is that of the server; `abandon` is called if the socket cannot be closed cleanly. Queued bytes are
    counted in `unread`, for the client that owns the open socket.
    """

    def __init__(
        self,
        send: Send,
        limits: OutboundLimits,
        abandon: Callable[[], object],
        unread: UnreadMemory | None = None,
    ) -> None:
        self._send = send
        self._limits = limits
        self._abandon = abandon
        self._unread = unread or UnreadMemory()
        self._client = ""
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._in_hand = 0
        """Bytes of the message that the server is waiting to send."""
        self._at_server = 0
        """Bytes that the server has written and the peer has not read, if there are too many of them."""
        self._writer: asyncio.Task[None] | None = None
        self._closed = False
        self._direct: DirectWrite | None = None

    def accepted(self, client: str = "") -> None:
        """Note that a client's socket is open: from now on frames can be written directly."""
        self._client = client
        self._direct = direct_write(self._send)

    @property
    def closed(self) -> bool:
        """Whether nothing more is sent."""
        return self._closed

    def is_gone(self) -> bool:
        """Return whether the peer has disconnected or was closed. Can be called in any thread."""
        return self._closed or delivery.is_gone(self._send)

    @property
    def writes_at_once(self) -> bool:
        """Whether a frame can be written immediately: the peer keeps up, and direct writing is possible."""
        return self._direct is not None and self._writer is None and not self._closed

    def write(self, frames: bytes) -> bool:
        """Write frames if that is possible immediately; return whether they were written."""
        return self.writes_at_once and self._direct is not None and self._direct(frames)

    @property
    def backlog(self) -> int:
        """Number of queued messages."""
        return len(self._queue)

    def push(self, text: bytes) -> None:
        """Send a text message: immediately if the peer keeps up, else after the queued ones."""
        if self._closed:
            return
        if self._writer is not None:
            self._enqueue(text)
            return
        if self._direct is not None and self._direct(delivery.text_frame(text)):
            return
        try:
            paused = delivery.start(self._send(_message(text)))
        except Exception:
            # The server reports this itself, with a disconnect message.
            self._drop()
        else:
            if isinstance(paused, delivery.PausedWork):
                self._hold(len(text))
                self._writer = asyncio.get_running_loop().create_task(self._write(paused))

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        """Send text messages with a common beginning and end, in one write if the peer keeps up."""
        direct = self._direct
        around = len(middles) * (len(begin) + len(end))
        is_much = around + sum(map(len, middles)) > self._limits.bytes
        if self._closed or self._writer is not None or direct is None or is_much:
            is_written = False
        else:
            is_written = direct(delivery.text_frames(begin, middles, end))
        if not is_written:
            for middle in middles:
                self.push(b"".join((begin, middle, end)))

    async def drained(self) -> None:
        """Wait until the queue is empty or the connection is closed."""
        writer = self._writer
        if writer is not None and not self._closed:
            await asyncio.wait((writer,))

    async def flushed(self) -> None:
        """Wait until the peer has read nearly everything, or the connection is closed.

        If the server does not report this, a message of any length may still be in its buffer.
        """
        await self.drained()
        event = writable(self._send)
        if event is not None:
            await event.wait()

    async def close(self, code: int, reason: str) -> None:
        """Close after the messages already sent; queued ones are dropped."""
        if self._closed:
            return
        self._drop()
        writer = self._writer
        if writer is not None:
            writer.cancel()
            await asyncio.wait((writer,))
        await self._send_close(code, reason)

    def lose(self) -> None:
        """Note that the peer is gone; queued messages are dropped."""
        self._in_hand = 0  # a writer that has not started cannot reset it
        self._drop()
        if self._writer is not None:
            self._writer.cancel()

    def wait_at_server(self, size: int) -> None:
        """Note that too many bytes wait at the server for the peer, or, with 0, none any more."""
        self._at_server = size
        self._count()

    def shed(self) -> int:
        """Close a peer that is too slow, or cut it off if its queue is empty; return the bytes still held."""
        _log.info(
            "WebSocket closed: the output queued for slow readers exceeds the limit, and this reader has the longest queue"
        )
        if not self._queue:
            self._in_hand = self._at_server = 0
            self._abandon()
        self._drop()
        return self._count()

    def _count(self) -> int:
        """Update the count of waiting bytes; return it."""
        queued = self._queued + _MESSAGE_COST * len(self._queue)
        size = queued + self._in_hand + self._at_server
        self._unread.count(self, self._client, size)
        return size

    def _hold(self, size: int) -> None:
        """Count the size of a message that the server is waiting to send; 0 for none."""
        self._in_hand = size
        self._count()

    def _enqueue(self, text: bytes) -> None:
        limits = self._limits
        full = len(self._queue) >= limits.messages
        if full or (self._queue and self._queued + len(text) > limits.bytes):
            _log.info(
                "WebSocket closed: %d messages are queued for a slow reader", len(self._queue)
            )
            self._drop()
            return
        self._queue.append(text)
        self._queued += len(text)
        self._count()

    async def _write(self, paused: delivery.PausedWork[None]) -> None:
        """Finish a paused write and the queued messages; close the peer if it is too slow."""
        try:
            await self._within_limit(paused)
            self._hold(0)
            while self._queue:
                if self._write_waiting():
                    await asyncio.sleep(0)
                else:
                    await self._write_next()
            if self._closed:
                await self._send_close(TRY_AGAIN_LATER, _TOO_SLOW)
        except TimeoutError:
            self._drop()
            await self._send_close(TRY_AGAIN_LATER, _TOO_SLOW)
        except Exception:
            self._drop()
        finally:
            self._writer = None
            self._hold(0)

    async def _write_next(self) -> None:
        """Send the next queued message through the server."""
        text = self._next()
        self._hold(len(text))
        await self._within_limit(self._send(_message(text)))
        self._hold(0)

    def _write_waiting(self) -> bool:
        """Write queued messages in one piece, if the peer accepts them now; return whether it does."""
        event = writable(self._send)
        if self._direct is None or event is None or not event.is_set():
            return False
        sizes = accumulate(map(len, self._queue))
        count = max(1, sum(1 for _ in takewhile(lambda size: size <= delivery.PART, sizes)))
        texts = list(islice(self._queue, count))
        if not self._direct(delivery.text_frames(b"", texts, b"")):
            return False
        # The connection may be closed by now, if this write exceeded the limit of the process.
        if not self._closed:
            for _ in texts:
                self._next()
            self._count()
        return True

    def _next(self) -> bytes:
        """Remove and return the next queued message."""
        text = self._queue.popleft()
        self._queued -= len(text)
        return text

    async def _within_limit(self, write: Awaitable[None]) -> None:
        async with asyncio.timeout(self._limits.seconds):
            await write

    async def _send_close(self, code: int, reason: str) -> None:
        """Close; without a code if the server does not accept ours (daphne knows 1000)."""
        close = {"type": "websocket.close"}
        for message in ({**close, "code": code, "reason": reason}, close):
            try:
                await self._within_limit(self._send(message))
            except TimeoutError:
                self._abandon()
            except Exception as error:
                _log.debug("a WebSocket could not be closed: %s", error)
                continue
            return

    def _drop(self) -> None:
        self._closed = True
        self._queue.clear()
        self._queued = 0
        self._count()


def _message(text: bytes) -> dict[str, Any]:
    """Return the ASGI message for a text, which the server expects decoded."""
    return {"type": "websocket.send", "text": text.decode()}
