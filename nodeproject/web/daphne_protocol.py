"""Daphne's protocols, extended by limits for unknown clients and by an application's close codes.

Daphne closes a WebSocket by a call that is meant for clients: it raises an exception for the close codes of
servers (1007 to 1013), so the connection stays open, and it drops the reason.

Daphne reads a whole body into a file before it calls the application, so here bodies are limited in size
and time, and request heads in time from their first line on. Some limits of uvicorn are missing here: the
first line of a head may arrive as slowly as one byte a minute, connections are not counted, an incomplete
WebSocket message is limited in size but not in time, the memory of all requests is counted only once they
are complete, and no request waits for the answer of another process.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from io import BytesIO
from typing import Any, Final
from urllib.parse import unquote

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from typing_extensions import override

HEAD_SECONDS: Final = 10.0
BODY_SECONDS: Final = 30.0


class ClosingProtocol(WebSocketProtocol):  # type: ignore[misc]  # daphne has no types
    """A WebSocket protocol that closes with the code and reason of a `websocket.close` message."""

    @override
    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.close" and self.state == self.STATE_OPEN:
            reason = message.get("reason") or ""
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=reason.encode())
            return
        super().handle_reply(message)


class BoundedRequest(WebRequest):  # type: ignore[misc]  # as above
    """A request whose body is kept in memory, limited by its path. Created at the request's first line."""

    most_of: Callable[[str], int] = staticmethod(lambda _: 0)
    """Maximum bytes of a body at a path; set when the server starts."""

    def __init__(self, channel: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(channel, *arguments, **options)
        self._most = 0
        self._size = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._allow(HEAD_SECONDS)

    @override
    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()
        target: bytes = self.channel._path  # noqa: SLF001  # the request gets it only later
        self._most = self.most_of(unquote(target.partition(b"?")[0].decode("latin-1")))
        if length == 0:
            return
        self._allow(BODY_SECONDS)
        if self._most == 0:
            self._refuse(HTTPStatus.NOT_FOUND)
        elif length is not None and length > self._most:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    @override
    def handleContentChunk(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._most:
            self.content.write(data)
        else:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    @override
    def process(self) -> Any:
        self._stop()
        return super().process()

    @override
    def connectionLost(self, reason: Any) -> None:
        self._stop()
        super().connectionLost(reason)

    def _allow(self, seconds: float) -> None:
        self._stop()
        loop = asyncio.get_event_loop()  # daphne's reactor runs on it
        self._deadline = loop.call_later(seconds, self._refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer without daphne and end the connection; the rest of the request is ignored."""
        self._stop()
        channel = self.channel
        if channel is None or channel.transport is None or channel.transport.disconnecting:
            return
        channel.transport.write(
            b"HTTP/1.1 %d %b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            % (status.value, status.phrase.encode())
        )
        self._most = 0
        channel.loseConnection()


class BoundedFactory(HTTPFactory):  # type: ignore[misc]  # as above
    """Creates connections with limited requests."""

    @override
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol
