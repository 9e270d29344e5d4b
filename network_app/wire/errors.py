"""Errors of messages and frames.

Each class is one reason; its base class determines the consequence for the connection:

    WireError
    ├── FrameTooLarge            a frame's length is above the limit: the connection is closed
    ├── MessageTooLarge          a message of our own that peers would not accept
    └── UnreadableMessage        a frame that is skipped; the connection stays
        ├── Unread               not a fault of the peer
        │   ├── NoKind           a message type unknown here, perhaps of a later protocol
        │   └── TooEarly         a chain's message before the handshake is finished
        └── Unreadable           not sent by honest peers; a few of these close the connection
            ├── MalformedMessage     not valid protobuf
            ├── TooLargeForKind      more bytes than the limit for its kind
            ├── TooManyFields        more elements than the limit for its kind
            ├── MalformedCompression not zstd, or zstd that needs too much memory
            └── CompressedTwice      the decompressed content is compressed
"""


class WireError(Exception):
    """A message that cannot be sent, or that should not have been received."""


class FrameTooLarge(WireError):
    """A frame whose length prefix is above the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"frame of {size} bytes exceeds the limit of {limit}")
        self.size = size


class MessageTooLarge(WireError):
    """A message of our own with too many bytes, before or after compression."""

    def __init__(self, kind: str, size: int, limit: int) -> None:
        super().__init__(f"{kind} of {size} bytes exceeds the limit of {limit}")
        self.kind = kind
        self.size = size


class UnreadableMessage(WireError):
    """A frame whose message is not read."""


class Unread(UnreadableMessage):
    """A frame that honest peers may also send."""


class UnreadableContent(UnreadableMessage):
    """A frame that honest peers do not send."""


class MalformedMessage(UnreadableContent):
    """Bytes that are not protobuf of the expected shape."""

    def __init__(self) -> None:
        super().__init__("malformed message")


class NoKind(Unread):
    """A message of a type that is unknown here."""

    def __init__(self) -> None:
        super().__init__("message of no known kind")


class MalformedCompression(UnreadableContent):
    """Bytes that cannot be decompressed."""

    def __init__(self) -> None:
        super().__init__("malformed zstd")


class TooEarly(Unread):
    """A message that is accepted only after the handshake."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind} before the handshake is finished")
        self.kind = kind


class TooLargeForKind(UnreadableContent):
    """A message with more bytes than the limit for its kind."""

    def __init__(self, kind: str, limit: int) -> None:
        super().__init__(f"{kind} exceeds the limit of {limit} bytes")
        self.kind = kind


class TooManyFields(UnreadableContent):
    """A message with more elements than the limit for its kind."""

    def __init__(self, kind: str, limit: int) -> None:
        super().__init__(f"{kind} has more than {limit} fields")
        self.kind = kind


class CompressedTwice(UnreadableContent):
    """A compressed message in a compressed message."""

    def __init__(self) -> None:
        super().__init__("message is compressed twice")
