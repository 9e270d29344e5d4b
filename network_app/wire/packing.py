"""A message as it goes over the wire: made once for many peers, or in a thread."""

from typing import NamedTuple

from network_app.wire import framing
from network_app.wire.p2p_pb2 import Message


class Packed(NamedTuple):
    """A whole frame, and which message is in it."""

    kind: str
    frame: bytes


def pack(message: Message) -> Packed:
    """Return a message with its frame.

    Raises:
        MessageTooLarge: No peer would read it.
        NoKind: The message is empty.
    """
    return Packed(framing.kind(message), framing.encode(message))
