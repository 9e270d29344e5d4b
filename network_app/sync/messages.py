"""Requests and answers of the chains: which message holds which, and the application's prefix. Pure.

p2p.md 3.3 and 8.
"""

from typing import TypeAlias, TypeVar

from network_app.wire.p2p_pb2 import (
    Accepted,
    AcceptedFrontier,
    AcceptedStateSummary,
    Ancestors,
    AppError,
    AppGossip,
    AppRequest,
    AppResponse,
    Chits,
    Get,
    GetAccepted,
    GetAcceptedFrontier,
    GetAncestors,
    Message,
    PullQuery,
    PushQuery,
    Put,
)
from primitives.ids import ID

Request: TypeAlias = (
    GetAcceptedFrontier | GetAccepted | GetAncestors | Get | PushQuery | PullQuery | AppRequest
)
Answer: TypeAlias = (
    AcceptedFrontier
    | Accepted
    | Ancestors
    | Put
    | Chits
    | AppResponse
    | AppError
    | AcceptedStateSummary
)
AnswerT = TypeVar("AnswerT", AcceptedFrontier, Accepted, Ancestors, Put, Chits, AppResponse)

ANSWERS = (AcceptedFrontier, Accepted, Ancestors, Put, Chits, AppResponse, AppError)
"""What answers the requests that this node makes."""

FIELDS = {
    AcceptedFrontier: "accepted_frontier",
    Accepted: "accepted",
    AcceptedStateSummary: "accepted_state_summary",
    Ancestors: "ancestors",
    AppError: "app_error",
    AppGossip: "app_gossip",
    AppRequest: "app_request",
    AppResponse: "app_response",
    Chits: "chits",
    Get: "get",
    GetAccepted: "get_accepted",
    GetAcceptedFrontier: "get_accepted_frontier",
    GetAncestors: "get_ancestors",
    PullQuery: "pull_query",
    PushQuery: "push_query",
    Put: "put",
}
"""In which field of `Message` each of them travels."""

TRANSACTION_GOSSIP = 0
GENESIS = 0x6E6F6465
"""Handlers of application messages; the second is our own (node.proto)."""

UNEXPECTED = -1
NOT_REGISTERED = -2
NOT_A_VALIDATOR = -3
THROTTLED = -4
"""Codes of AppError."""

LONGEST_VARINT = 10


def enclose(content: Request | Answer | AppGossip) -> Message:
    """Return the message that carries a request, an answer or gossip."""
    message = Message()
    getattr(message, FIELDS[type(content)]).CopyFrom(content)
    return message


def as_id(raw: bytes) -> ID | None:
    """Return an ID that a peer sent, or None when it is none."""
    return ID(raw) if len(raw) == ID.SIZE else None


def with_handler(handler: int, payload: bytes) -> bytes:
    """Return the bytes of an application message for a handler: its number as a varint, the payload."""
    prefix = bytearray()
    while handler >= 0x80:
        prefix.append(handler & 0x7F | 0x80)
        handler >>= 7
    prefix.append(handler)
    return bytes(prefix) + payload


def split_handler(app_bytes: bytes) -> tuple[int, bytes] | None:
    """Return handler and payload of an application message, or None when there is no whole varint."""
    handler = 0
    for at, byte in enumerate(app_bytes[:LONGEST_VARINT]):
        handler |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return handler, app_bytes[at + 1 :]
    return None
