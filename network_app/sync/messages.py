"""Requests and answers of the chains: their fields in `Message`, and application messages. Pure.

p2p.md 3.3 and 8.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from google.protobuf.message import DecodeError

from network_app.wire import fields
from network_app.wire.errors import UnreadableContent, WireReason
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
    StateSummaryFrontier,
)
from network_app.wire.sdk_pb2 import PullGossipResponse, PushGossip
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
    | StateSummaryFrontier
)
AnswerT = TypeVar("AnswerT", AcceptedFrontier, Accepted, Ancestors, Put, Chits, AppResponse)

ANSWERS = (AcceptedFrontier, Accepted, Ancestors, Put, Chits, AppResponse, AppError)
"""Answers to the requests that this node sends."""

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
    StateSummaryFrontier: "state_summary_frontier",
}
"""The field of `Message` that contains each type."""

TRANSACTION_GOSSIP = 0
SIGNATURE_REQUEST = 2
GENESIS = 0x6E6F6465
"""Handler IDs of application messages besides `ports.ATOMIC_GOSSIP`; the last is our own (node.proto)."""

UNEXPECTED = -1
NOT_REGISTERED = -2
NOT_A_VALIDATOR = -3
THROTTLED = -4
"""Error codes of AppError."""

LONGEST_VARINT = 10
MAX_TOLD = 1024
"""Maximum number of transactions per message; senders end a message after 20 KiB, well below it."""


def enclose(content: Request | Answer | AppGossip) -> Message:
    """Return the message that carries a request, an answer or gossip."""
    message = Message()
    getattr(message, FIELDS[type(content)]).CopyFrom(content)
    return message


def as_id(raw: bytes) -> ID | None:
    """Return an ID from a peer's bytes, or None if they are not an ID."""
    return ID(raw) if len(raw) == ID.SIZE else None


def with_handler(handler: int, payload: bytes) -> bytes:
    """Return the bytes of an application message: the handler's number as a varint, then the payload."""
    prefix = bytearray()
    while handler >= 0x80:
        prefix.append(handler & 0x7F | 0x80)
        handler >>= 7
    prefix.append(handler)
    return bytes(prefix) + payload


def split_handler(app_bytes: bytes) -> tuple[int, bytes] | None:
    """Return handler and payload of an application message, or None without a complete varint."""
    handler = 0
    for at, byte in enumerate(app_bytes[:LONGEST_VARINT]):
        handler |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return handler, app_bytes[at + 1 :]
    return None


def transactions_in(
    payload: bytes, form: type[PushGossip] | type[PullGossipResponse]
) -> Sequence[bytes]:
    """Return the transactions in a message. They are counted before any object is created for them.

    Raises:
        UnreadableContent: It is not such a message, or it contains more than `MAX_TOLD` or an empty one.
    """
    found = list(islice(fields.iter_fields(payload), MAX_TOLD + 1))
    if len(found) > MAX_TOLD or any(item.start == item.end for item in found):
        raise UnreadableContent(WireReason.MALFORMED)
    try:
        return form.FromString(payload).gossip
    except DecodeError as error:
        raise UnreadableContent(WireReason.MALFORMED) from error
