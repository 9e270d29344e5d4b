"""A shorter way to the wire under uvicorn: a ready text frame straight to its transport.

uvicorn builds each frame through a general protocol object; for one event to a thousand sockets
that costs as much again as the writes. Every other server, and every state in which a frame may
not simply be written, gets the message through ASGI instead.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import OPEN

DirectWrite = Callable[[str], bool]
"""Writes a text message now; False if it has to go through the server's `send`."""

_TEXT = b"\x81"


def text_frame(text: str) -> bytes:
    """An unfragmented text frame as a server sends it: without a mask (RFC 6455, 5.2)."""
    payload = text.encode()
    length = len(payload)
    if length < 126:
        return b"%b%c%b" % (_TEXT, length, payload)
    if length < 65_536:
        return b"%b\x7e%b%b" % (_TEXT, length.to_bytes(2, "big"), payload)
    return b"%b\x7f%b%b" % (_TEXT, length.to_bytes(8, "big"), payload)


def direct_write(send: Any) -> DirectWrite | None:
    """The shorter way for an accepted socket, if its server and its extensions have one."""
    protocol = getattr(send, "__self__", None)
    if not isinstance(protocol, WebSocketsSansIOProtocol) or protocol.conn.extensions:
        return None
    connection, transport, writable = protocol.conn, protocol.transport, protocol.writable

    def write(text: str) -> bool:
        if connection.state is not OPEN or not writable.is_set() or transport.is_closing():
            return False
        transport.write(text_frame(text))
        return True

    return write


def writable(send: Any) -> asyncio.Event | None:
    """What is set while the peer keeps up with what the server has for it, if the server tells."""
    protocol = getattr(send, "__self__", None)
    return protocol.writable if isinstance(protocol, WebSocketsSansIOProtocol) else None
