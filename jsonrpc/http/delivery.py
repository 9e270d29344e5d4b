"""Sending of answers and messages: immediately if no pause is needed, long ones in parts; and the peer behind `send`.

A server accepts a message of any length and keeps it until it is read. When a message is sent in parts, each part
waits until the client has read the previous one.
"""

import asyncio
import select
from collections.abc import Callable, Coroutine, Generator, Iterable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
"""Flag for a peer that has stopped sending, which Linux reports even if there is unread data. Other systems report
only a connection that has ended in both directions."""


def transport_of(send: Any) -> Any:
    """Return the transport by which a server sends; None if the server does not expose it."""
    return getattr(getattr(send, "__self__", None), "transport", None)


def is_gone(send: Any) -> bool:
    """Return whether the peer has disconnected. Can be called in any thread.

    It asks the kernel, because the event loop notices only after it has read the earlier data.
    """
    transport = transport_of(send)
    return transport is not None and has_hung_up(transport)


def has_hung_up(transport: Any) -> bool:
    """Return whether the peer of a transport has disconnected, like `is_gone`.

    Unspecified: a client that closes its sending side after a request, and waits for the answer, counts as
    disconnected. Go's server answers it. No system can distinguish the two cases before something is written, and
    otherwise calls would be executed to the end for every client that has left.
    """
    if transport.is_closing():
        return True
    socket = transport.get_extra_info("socket")
    if socket is None:
        return False
    poll = select.poll()
    try:
        poll.register(socket, _HUNG_UP)
    except ValueError:
        return True  # it was closed in the meantime
    return bool(poll.poll(0))


@dataclass(frozen=True, slots=True)
class MinimumRate:
    """A peer must read at least `rate` bytes per second of the queued output, on average over `seconds`.

    The slowest network connections in use are several times as fast.
    """

    rate: int = 1_024
    seconds: float = 30.0


class WriteWatch:
    """Watches one connection while too much output is queued for its peer."""

    def __init__(self, transport: asyncio.Transport, minimum: MinimumRate) -> None:
        self._transport = transport
        self._minimum = minimum
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Start an interval in which nothing else may be written."""
        minimum = self._minimum
        buffered = self._transport.get_write_buffer_size()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(minimum.seconds, self._check, buffered)

    def stop(self) -> None:
        """Stop, because the peer has read on or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, before: int) -> None:
        """Cut off the connection if its peer has read too little."""
        sent = before - self._transport.get_write_buffer_size()
        if sent < max(1, self._minimum.rate * self._minimum.seconds):
            self._transport.abort()
        else:
            self.begin()


Message = MutableMapping[str, Any]
Send = Callable[[Message], Coroutine[Any, Any, None]]

PART: Final = 65_536
"""Bytes that are sent at a time."""
STALL_SECONDS: Final = 10.0
"""Seconds that a client may take for each part."""


class NotRead(Exception):
    """The client has stopped reading and must be cut off."""


async def send_in_parts(message: Message, send: Send, stall: float = STALL_SECONDS) -> None:
    """Send a message in parts.

    Raises:
        NotRead: the client has stopped reading.
    """
    try:
        for part in _parts(message):
            async with asyncio.timeout(stall):
                await send(part)
    except TimeoutError:
        raise NotRead from None


async def abandon(send: Send) -> None:
    """Cut off a client that reads nothing; a clean close would wait behind the unread data.

    A server that does not expose its transport ends a response that the application leaves unfinished.
    """
    transport = transport_of(send)
    if transport is not None:
        transport.abort()
        await asyncio.sleep(0)  # the server has to notice first


def _parts(message: Message) -> list[Message]:
    """Split the body of a message, so that a slow client can be recognized as reading."""
    body = message.get("body", b"")
    if len(body) <= PART:
        return [message]
    cuts = [body[place : place + PART] for place in range(0, len(body), PART)]
    more = [True] * (len(cuts) - 1) + [message.get("more_body", False)]
    return [
        {**message, "body": cut, "more_body": goes_on}
        for cut, goes_on in zip(cuts, more, strict=True)
    ]


T = TypeVar("T")


class PausedWork(Generic[T]):
    """The rest of a coroutine that has paused. Await it once to run it to its end."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        """Pass on whatever the coroutine waits for, and the results."""
        coroutine, waits_for = self._coroutine, self._waits_for
        try:
            while True:
                try:
                    value = yield waits_for
                except BaseException as error:
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(value)
        except StopIteration as stop:
            result: T = stop.value
            return result


def start(coroutine: Coroutine[Any, Any, T]) -> T | PausedWork[T]:
    """Run a coroutine to its first pause; return its result, or the rest to await.

    The coroutine must not access the current task before it pauses.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return PausedWork(coroutine, waits_for)


DirectWrite = Callable[[bytes], bool]
"""Writes frames immediately; returns False if their messages must go through the server's `send`."""

_TEXT = b"\x81"


def text_frame(text: bytes) -> bytes:
    """Return an unfragmented text frame as a server sends it: without a mask (RFC 6455, 5.2)."""
    return _frame_head(len(text)) + text


def text_frames(begin: bytes, middles: Iterable[bytes | memoryview], end: bytes) -> bytes:
    """Return the concatenated frames of texts with a common beginning and end; each text is copied once."""
    around = len(begin) + len(end)
    begins: dict[int, bytes] = {}
    parts: list[bytes | memoryview] = []
    for middle in middles:
        size = len(middle)
        cached = begins.get(size)
        if cached is None:
            cached = begins[size] = _frame_head(around + size) + begin
        parts += (cached, middle, end)
    return b"".join(parts)


def _frame_head(length: int) -> bytes:
    if length < 126:
        return b"%b%c" % (_TEXT, length)
    if length < 65_536:
        return b"%b\x7e%b" % (_TEXT, length.to_bytes(2, "big"))
    return b"%b\x7f%b" % (_TEXT, length.to_bytes(8, "big"))


def direct_write(send: Any) -> DirectWrite | None:
    """Return a function that writes to an accepted socket directly, if its server and its extensions permit it."""
    protocol = _socket_behind(send)
    if protocol is None or protocol.conn.extensions:
        return None
    from websockets.protocol import OPEN

    connection, transport, writable = protocol.conn, protocol.transport, protocol.writable

    def write(frames: bytes) -> bool:
        if connection.state is not OPEN or not writable.is_set() or transport.is_closing():
            return False
        transport.write(frames)
        return True

    return write


def writable(send: Any) -> asyncio.Event | None:
    """Return an event that is set while the peer keeps up with the server's output; None if the server has none."""
    protocol = _socket_behind(send)
    return None if protocol is None else protocol.writable


def _socket_behind(send: Any) -> "WebSocketsSansIOProtocol | None":
    """Return the protocol of an accepted socket; None if it is not uvicorn's."""
    from uvicorn.protocols.websockets import websockets_sansio_impl  # with the first WebSocket

    protocol = getattr(send, "__self__", None)
    is_known = isinstance(protocol, websockets_sansio_impl.WebSocketsSansIOProtocol)
    return protocol if is_known else None
