"""Why bytes are no message, or a message no frame.

A class stands for one reason; its place says what becomes of the connection:

    WireError
    ├── FrameTooLarge            a frame's length is above the limit: the connection is closed
    ├── MessageTooLarge          a message of our own that no peer would take
    └── UnreadableMessage        a frame that holds no message: it is skipped, the connection stays
        ├── MalformedMessage     no protobuf
        ├── NoKind               none of the messages that are known here
        ├── MalformedCompression no zstd, or zstd that wants too much memory
        ├── DecompressedTooLarge more than the limit comes out of it
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
    """A frame that holds no message."""


class MalformedMessage(UnreadableMessage):
    """Bytes that are no protobuf of the expected shape."""

    def __init__(self) -> None:
        super().__init__("malformed message")


class NoKind(UnreadableMessage):
    """A message that is none of those known here."""

    def __init__(self) -> None:
        super().__init__("message of no known kind")


class MalformedCompression(UnreadableMessage):
    """Bytes that cannot be decompressed."""

    def __init__(self) -> None:
        super().__init__("malformed zstd")


class DecompressedTooLarge(UnreadableMessage):
    """A compressed message with too much in it."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"decompressed message exceeds the limit of {limit} bytes")
        self.limit = limit
        """What it cost to find out."""


class CompressedTwice(UnreadableMessage):
    """A compressed message in a compressed message."""

    def __init__(self) -> None:
        super().__init__("message is compressed twice")
