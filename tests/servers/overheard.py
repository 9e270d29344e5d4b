"""JSON-RPC messages in the bytes of a connection: bodies of HTTP, messages of WebSocket after it."""

import gzip
from collections.abc import Callable, Generator
from typing import Protocol

import httptools
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

Take = Callable[[bytes], object]
"""Takes one whole message."""


class _Parser(Protocol):
    def feed_data(self, data: bytes) -> None: ...


class Stream:
    """One direction of a connection: bytes go in, in pieces as they come, and messages come out."""

    def __init__(self, take: Take, *, from_client: bool) -> None:
        self._take = take
        self._body = bytearray()
        self._packed = False
        kind = httptools.HttpRequestParser if from_client else httptools.HttpResponseParser
        self._http: _Parser = kind(self)
        self._frames: _Frames | None = None
        self._masked = from_client

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._frames is not None:
            self._frames.feed(data)
            return
        try:
            self._http.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._frames = _Frames(self._take, masked=self._masked)
            self._frames.feed(data[upgrade.args[0] :])

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take note of what the body is packed by, for the parser."""
        if name.lower() == b"content-encoding":
            self._packed = value.lower() == b"gzip"

    def on_body(self, body: bytes) -> None:
        """Collect a part of a body, for the parser."""
        self._body += body

    def on_message_complete(self) -> None:
        """Hand on what was collected, for the parser."""
        body = gzip.decompress(self._body) if self._packed else bytes(self._body)
        self._body.clear()
        self._packed = False
        if body:
            self._take(body)


class _Frames:
    """Messages in the frames of a WebSocket without extensions: others cannot be read here."""

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
    """Who makes sense of the messages of one connection; called from two threads."""

    def asked(self, body: bytes) -> None:
        """Take a message of the client."""

    def answered(self, body: bytes) -> None:
        """Take a message of the server."""

    def lost(self, error: BaseException) -> None:
        """Take note that the rest of the connection could not be understood."""


class Overheard:
    """Listens to the bytes of a connection, and tells the messages."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._asked = Stream(dialogue.asked, from_client=True)
        self._answered = Stream(dialogue.answered, from_client=False)
        self._lost = False

    def sent(self, data: bytes) -> None:
        """Take bytes of the client."""
        self._feed(self._asked, data)

    def answered(self, data: bytes) -> None:
        """Take bytes of the server."""
        self._feed(self._answered, data)

    def _feed(self, stream: Stream, data: bytes) -> None:
        if self._lost:
            return
        try:
            stream.feed(data)
        except Exception as error:  # whatever it is: the bytes must go on, and the test must fail
            self._lost = True
            self._dialogue.lost(error.__context__ or error)  # the parser wraps
