"""JSON-RPC at a Unix socket (NODE_IPC), as geth's and Anvil's IPC: values of JSON one after another, without frames.

Each connection is joined to a WebSocket of this node, which has the same methods, subscriptions and limits.
"""

import asyncio
import contextlib
import logging
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from nodeproject.startup.process import CannotStart, StartReason

READ_BYTES: Final = 65_536
CONNECTIONS: Final = 256
"""Maximum number of connections; the server closes further connections at once."""

_log: Final = logging.getLogger(__name__)

_OUTSIDE: Final = re.compile(rb'["\[\]{}]')
"""Bytes outside of strings that open or close something."""
_INSIDE: Final = re.compile(rb'["\\]')
"""Bytes inside of a string that end it or escape the next byte."""


class MalformedStream(ValueError):
    """The client's bytes are not objects or arrays of JSON, or one of them is too long."""


class _TextPlace(IntEnum):
    """Where in a JSON value the next byte is."""

    OUTSIDE = 0
    STRING = 1
    ESCAPE = 2


class JsonStream:
    """Splits a stream of bytes into objects and arrays of JSON, each byte of which is examined once.

    Args:
        limit: Maximum length of a value in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._done = 0
        """Bytes of the held ones that were examined."""
        self._depth = 0
        self._place = _TextPlace.OUTSIDE

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the values that are complete with these bytes.

        Raises:
            MalformedStream: A value begins with neither { nor [, or is too long.
        """
        self._held += data
        while (end := self._end()) is not None:
            yield bytes(self._held[:end])
            del self._held[:end]
            self._done = 0
        if len(self._held) > self._limit:
            raise MalformedStream

    def _end(self) -> int | None:
        """Return the length of the first value, None if it is not complete."""
        if not self._depth and not self._done:
            blank = len(self._held) - len(self._held.lstrip())
            del self._held[:blank]
            if self._held and self._held[0] not in b"{[":
                raise MalformedStream
        while self._done < len(self._held):
            if self._place is _TextPlace.ESCAPE:
                self._place, self._done = _TextPlace.STRING, self._done + 1
                continue
            in_string = self._place is _TextPlace.STRING
            found = (_INSIDE if in_string else _OUTSIDE).search(self._held, self._done)
            if found is None:
                self._done = len(self._held)
                return None
            self._done = found.end()
            if self._passes(found[0]):
                return self._done
        return None

    def _passes(self, byte: bytes) -> bool:
        """Note a byte with a meaning; return whether it ends the value."""
        if byte == b"\\":
            self._place = _TextPlace.ESCAPE
        elif byte == b'"':
            self._place = (
                _TextPlace.OUTSIDE if self._place is _TextPlace.STRING else _TextPlace.STRING
            )
        elif byte in b"{[":
            self._depth += 1
        else:
            self._depth -= 1
            return not self._depth
        return False


class IpcServer:
    """The socket, served by a thread with an event loop of its own. Only the node's user may connect.

    Args:
        path: The path of the socket. A socket that an ended node has left there is replaced.
        limit: Maximum length of a request in bytes.
        headers: Headers that the WebSocket of this node needs.
    """

    def __init__(self, path: Path, limit: int, headers: Mapping[str, str]) -> None:
        self._path = path
        self._limit = limit
        self._headers = headers
        self._url = ""
        self._connections = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()
        self._is_bound = threading.Event()
        self._problem: OSError | None = None
        self._thread: threading.Thread | None = None

    def verify(self) -> None:
        """Verify that the socket can be made there, and remove one that an ended node has left.

        Raises:
            CannotStart: Another program listens there, or the path is that of another file.
        """
        try:
            if self._path.exists() and not stat.S_ISSOCK(self._path.stat().st_mode):
                raise CannotStart(
                    StartReason.IPC_UNUSABLE, path=self._path, cause="it is a file, and no socket"
                )
            if self._path.exists() and _answers(self._path):
                raise CannotStart(
                    StartReason.IPC_UNUSABLE, path=self._path, cause="another program listens there"
                )
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise CannotStart(
                StartReason.IPC_UNUSABLE, path=self._path, cause=error.strerror or error
            ) from error

    def start(self, url: str) -> None:
        """Listen, and join connections to the WebSocket at a URL.

        Raises:
            CannotStart: The socket cannot be made.
        """
        self._url = url
        self._thread = threading.Thread(target=self._run, name="ipc", daemon=True)
        self._thread.start()
        self._is_bound.wait()
        if self._problem is not None:
            cause = self._problem.strerror or self._problem
            raise CannotStart(StartReason.IPC_UNUSABLE, path=self._path, cause=cause)

    def stop(self) -> None:
        """End all connections and the thread, and remove the socket."""
        if self._thread is None or self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._client, self._path)
        except OSError as error:
            self._problem = error
            return
        finally:
            os.umask(before)
            self._is_bound.set()
        try:
            await self._end.wait()
        finally:
            server.close()
            self._path.unlink(missing_ok=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= CONNECTIONS:
            writer.close()
            return
        self._connections += 1
        try:
            async with connect(
                self._url,
                additional_headers=self._headers,
                max_size=None,
                compression=None,
                proxy=None,
            ) as node:
                await self._join(reader, writer, node)
        except (OSError, WebSocketException) as error:
            _log.debug("a connection of the IPC socket ended: %s", error)
        finally:
            self._connections -= 1
            writer.close()

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: ClientConnection
    ) -> None:
        """Pass requests and answers on until one side ends."""
        sides = {
            asyncio.ensure_future(self._pass_requests(reader, node)),
            asyncio.ensure_future(_pass_answers(node, writer)),
        }
        try:
            done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            for side in done:
                side.result()
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)

    async def _pass_requests(self, reader: asyncio.StreamReader, node: ClientConnection) -> None:
        stream = JsonStream(self._limit)
        while data := await reader.read(READ_BYTES):
            try:
                for value in stream.feed(data):
                    await node.send(value, text=True)
            except MalformedStream:
                return


async def _pass_answers(node: ClientConnection, writer: asyncio.StreamWriter) -> None:
    async for answer in node:
        assert isinstance(answer, str), "the node sends texts"
        writer.write(answer.encode() + b"\n")
        await writer.drain()


def _answers(path: Path) -> bool:
    """Return whether a program listens at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
    return True
