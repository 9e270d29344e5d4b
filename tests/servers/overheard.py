"""Parser of the JSON-RPC messages in a connection's bytes: HTTP bodies, later WebSocket messages."""

import gzip
from collections.abc import Callable, Generator
from typing import Protocol

import httptools
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

Take = Callable[[bytes], object]
"""Receives one whole message."""


class _Parser(Protocol):
    def feed_data(self, data: bytes) -> None: ...


class Stream:
    """One direction of a connection: takes bytes in pieces and extracts messages."""

    def __init__(self, take: Take, *, from_client: bool) -> None:
        self._take = take
        self._body = bytearray()
        self._packed = False
        kind = httptools.HttpRequestParser if from_client else httptools.HttpResponseParser
        self._http: _Parser = kind(self)
        self._frames: _Frames | None = None
        self._masked = from_client

    def feed(self, data: bytes) -> None:
        """Parse the next bytes."""
        if self._frames is not None:
            self._frames.feed(data)
            return
        try:
            self._http.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._frames = _Frames(self._take, masked=self._masked)
            self._frames.feed(data[upgrade.args[0] :])

    def on_header(self, name: bytes, value: bytes) -> None:
        """Record the body's encoding; called by the parser."""
        if name.lower() == b"content-encoding":
            self._packed = value.lower() == b"gzip"

    def on_body(self, body: bytes) -> None:
        """Collect a part of a body; called by the parser."""
        self._body += body

    def on_message_complete(self) -> None:
        """Pass on the collected body; called by the parser."""
        body = gzip.decompress(self._body) if self._packed else bytes(self._body)
        self._body.clear()
        self._packed = False
        if body:
            self._take(body)


class _Frames:
    """Messages in the frames of a WebSocket; extensions are not supported."""

    def __init__(self, take: Take, *, masked: bool) -> None:
        self._take = take
        self._reader = StreamReader()
        self._parser = self._parse(masked=masked)
        next(self._parser)

    def feed(self, data: bytes) -> None:
        self._reader.feed_data(data)
        next(self._parser)

    def _parse(self, *, masked: bool) -> Generator[None, None, None]:
        message = bytearray()
        while True:
            frame = yield from Frame.parse(self._reader.read_exact, mask=masked)
            if frame.opcode not in {Opcode.TEXT, Opcode.BINARY, Opcode.CONT}:
                continue
            message += frame.data
            if frame.fin:
                self._take(bytes(message))
                message.clear()


class Dialogue(Protocol):
    """A receiver of the messages of one connection; called from two threads."""

    def asked(self, body: bytes) -> None:
        """Receive a message of the client."""

    def answered(self, body: bytes) -> None:
        """Receive a message of the server."""

    def lost(self, error: BaseException) -> None:
        """Learn that the rest of the connection could not be parsed."""


class Overheard:
    """A `Listener` that parses a connection's bytes and passes the messages to a `Dialogue`."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._asked = Stream(dialogue.asked, from_client=True)
        self._answered = Stream(dialogue.answered, from_client=False)
        self._lost = False

    def sent(self, data: bytes) -> None:
        """Parse bytes of the client."""
        self._feed(self._asked, data)

    def answered(self, data: bytes) -> None:
        """Parse bytes of the server."""
        self._feed(self._answered, data)

    def _feed(self, stream: Stream, data: bytes) -> None:
        if self._lost:
            return
        try:
            stream.feed(data)
        except Exception as error:  # on any error: pass the bytes on, and fail the test
            self._lost = True
            self._dialogue.lost(error.__context__ or error)  # the parser wraps errors
