"""How answers and messages are sent: at once where nothing has to pause, what is long in parts.

A server takes a message of any length at once and keeps it until it is read. In parts it is asked
before each one whether the client has taken the last.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable, MutableMapping
from typing import Any, Final, Generic, TypeVar

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import OPEN

from jsonrpc.http.peer import transport_of

Message = MutableMapping[str, Any]
Send = Callable[[Message], Coroutine[Any, Any, None]]

PART: Final = 65_536
"""Bytes that are sent at a time."""
STALL_SECONDS: Final = 10.0
"""So long a client may take for each part."""


class NotRead(Exception):
    """A client that does not read on is to be cut off."""


async def send_in_parts(message: Message, send: Send, stall: float = STALL_SECONDS) -> None:
    """Send a message in parts.

    Raises:
        NotRead: the client does not read on.
    """
    try:
        for part in _parts(message):
            async with asyncio.timeout(stall):
                await send(part)
    except TimeoutError:
        raise NotRead from None


async def abandon(send: Send) -> None:
    """Cut a client off that reads nothing: a polite end would wait behind what it does not read.

    A server that does not show its transport ends what returns unfinished.
    """
    transport = transport_of(send)
    if transport is not None:
        transport.abort()
        await asyncio.sleep(0)  # the server has to hear of it first


def _parts(message: Message) -> list[Message]:
    """Cut the body of a message, so that a slow client is seen to read."""
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


class Paused(Generic[T]):
    """The rest of a coroutine that has paused; await it, once, to run it to its end."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        """Hand on whatever the coroutine waits for, and whatever comes back."""
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


def start(coroutine: Coroutine[Any, Any, T]) -> T | Paused[T]:
    """Run to the first pause; returns the result, or what is left to await.

    The coroutine must not ask for the current task before it pauses.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return Paused(coroutine, waits_for)


DirectWrite = Callable[[bytes], bool]
"""Writes frames now; False if their messages have to go through the server's `send`."""

_TEXT = b"\x81"


def text_frame(text: bytes) -> bytes:
    """An unfragmented text frame as a server sends it: without a mask (RFC 6455, 5.2)."""
    return _frame_head(len(text)) + text


def text_frames(begin: bytes, middles: Iterable[bytes | memoryview], end: bytes) -> bytes:
    """The same of several texts that begin and end alike, one after the other: each is copied once."""
    around = len(begin) + len(end)
    begins: dict[int, bytes] = {}
    parts: list[bytes | memoryview] = []
    for middle in middles:
        size = len(middle)
        known = begins.get(size)
        if known is None:
            known = begins[size] = _frame_head(around + size) + begin
        parts += (known, middle, end)
    return b"".join(parts)


def _frame_head(length: int) -> bytes:
    if length < 126:
        return b"%b%c" % (_TEXT, length)
    if length < 65_536:
        return b"%b\x7e%b" % (_TEXT, length.to_bytes(2, "big"))
    return b"%b\x7f%b" % (_TEXT, length.to_bytes(8, "big"))


def direct_write(send: Any) -> DirectWrite | None:
    """The shorter way for an accepted socket, if its server and its extensions have one."""
    protocol = getattr(send, "__self__", None)
    if not isinstance(protocol, WebSocketsSansIOProtocol) or protocol.conn.extensions:
        return None
    connection, transport, writable = protocol.conn, protocol.transport, protocol.writable

    def write(frames: bytes) -> bool:
        if connection.state is not OPEN or not writable.is_set() or transport.is_closing():
            return False
        transport.write(frames)
        return True

    return write


def writable(send: Any) -> asyncio.Event | None:
    """What is set while the peer keeps up with what the server has for it, if the server tells."""
    protocol = getattr(send, "__self__", None)
    return protocol.writable if isinstance(protocol, WebSocketsSansIOProtocol) else None
