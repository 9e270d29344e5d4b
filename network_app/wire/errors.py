"""Errors of messages and frames; the class determines the consequence for the connection."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class WireReason(StrEnum):
    """A rule that a frame or its message breaks."""

    FRAME_TOO_LARGE = "frame of {size} bytes exceeds the limit of {limit}"
    MESSAGE_TOO_LARGE = "{kind} of {size} bytes exceeds the limit of {limit}"
    # Honest peers may send these: later protocols have other kinds.
    NO_KIND = "message of no known kind"
    TOO_EARLY = "{kind} before the handshake is finished"
    # Of `UnreadableContent`.
    MALFORMED = "malformed message"
    MALFORMED_COMPRESSION = "malformed zstd"
    TOO_LARGE_FOR_KIND = "{kind} exceeds the limit of {limit} bytes"
    TOO_MANY_FIELDS = "{kind} has more than {limit} fields"
    COMPRESSED_TWICE = "message is compressed twice"


class WireError(ErrorWithReason):
    """A message that cannot be sent, or a frame that closes the connection."""


class MessageTooLarge(WireError):
    """A message of our own with too many bytes, before or after compression."""


class UnreadableMessage(WireError):
    """A frame that is skipped; the connection stays."""


class UnreadableContent(UnreadableMessage):
    """A frame that honest peers do not send; a few of these close the connection."""
