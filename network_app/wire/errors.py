"""Why bytes are no message, or a message no frame.

A class stands for one reason; its place says what becomes of the connection:

    WireError
    ├── FrameTooLarge            a frame's length is above the limit: the connection is closed
    ├── MessageTooLarge          a message of our own that no peer would take
    └── UnreadableMessage        a frame that is skipped; the connection stays
        ├── Unread               no fault of the peer's
        │   ├── NoKind           none of the messages that are known here: of a later protocol
        │   └── TooEarly         a chain's message before the handshake is finished
        └── Unreadable           nobody sends it; a few of these are the connection's end
            ├── MalformedMessage     no protobuf
            ├── TooLargeForKind      more bytes than a message of its kind has
            ├── TooManyFields        more elements than a message of its kind has
            ├── MalformedCompression no zstd, or zstd that wants too much memory
            └── CompressedTwice      what comes out of it is compressed
"""


class WireError(Exception):
    """Something that does not go over the wire, or came over it and should not have."""


class FrameTooLarge(WireError):
    """A frame that is announced with too many bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"frame of {size} bytes exceeds the limit of {limit}")
        self.size = size


class MessageTooLarge(WireError):
    """A message of our own with too many bytes, before or after it was compressed."""

    def __init__(self, kind: str, size: int, limit: int) -> None:
        super().__init__(f"{kind} of {size} bytes exceeds the limit of {limit}")
        self.kind = kind
        self.size = size


class UnreadableMessage(WireError):
    """A frame of which no message is read."""


class Unread(UnreadableMessage):
    """A frame that honest peers may send, too."""


class Unreadable(UnreadableMessage):
    """A frame that no honest peer sends."""


class MalformedMessage(Unreadable):
    """Bytes that are no protobuf of the expected shape."""

    def __init__(self) -> None:
        super().__init__("malformed message")


class NoKind(Unread):
    """A message that is none of those known here."""

    def __init__(self) -> None:
        super().__init__("message of no known kind")


class MalformedCompression(Unreadable):
    """Bytes that cannot be decompressed."""

    def __init__(self) -> None:
        super().__init__("malformed zstd")


class TooEarly(Unread):
    """A message that is read only after the handshake."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind} before the handshake is finished")
        self.kind = kind


class TooLargeForKind(Unreadable):
    """A message with more bytes than those of its kind have."""

    def __init__(self, kind: str, limit: int) -> None:
        super().__init__(f"{kind} exceeds the limit of {limit} bytes")
        self.kind = kind


class TooManyFields(Unreadable):
    """A message with more elements than those of its kind have."""

    def __init__(self, kind: str, limit: int) -> None:
        super().__init__(f"{kind} has more than {limit} fields")
        self.kind = kind


class CompressedTwice(Unreadable):
    """A compressed message in a compressed message."""

    def __init__(self) -> None:
        super().__init__("message is compressed twice")
