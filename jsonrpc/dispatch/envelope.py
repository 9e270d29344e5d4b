"""The JSON-RPC envelope: read a body into calls, and assemble answers.

Ids and params stay raw JSON text here, so that an id is echoed digit for digit. Methods, their arguments and their
error codes are elsewhere. Rules: JSON-RPC 2.0, as geth's server reads it.
"""

from typing import Final

import msgspec
from msgspec import Raw

from jsonrpc import errors
from primitives.json_limits import (
    MAX_DEPTH,
    MAX_VALUES,
    TooDeep,
    TooManyValues,
    bounded,
    may_hold_more,
    nesting,
)

__all__ = [
    "NULL",
    "Raw",
    "RpcCall",
    "notification",
    "read",
    "valid_id",
]

MAX_METHOD_LENGTH: Final = 2048
"""Characters of the longest method name that is looked up."""

NULL: Final = b"null"
"""The id of an answer to a request without a readable id."""

_ABSENT: Final = Raw()
_SPACE: Final = b" \t\r\n"

# The decoder needs 32 bytes of C stack for each level that it skips, so this many brackets are harmless in any order,
# and the exact count can wait until the calls are known.
_HARMLESS_BRACKETS: Final = 10_000

_HARMLESS_CALLS: Final = 8
"""Objects per requested call that are decoded before they are counted. Most calls have one or two, and counting them
first would take longer than decoding them."""


class RpcCall(msgspec.Struct, gc=False):
    """A request object: an empty `id` means a notification, an empty `method` means that it is not a call."""

    jsonrpc: str = ""
    method: str = ""
    id: Raw = _ABSENT
    params: Raw = _ABSENT


class _AnyMembers(msgspec.Struct, gc=False):
    """A request object with members of any type, decoded if `RpcCall` does not fit."""

    id: Raw = _ABSENT


_call: Final = msgspec.json.Decoder(RpcCall)
_any_members: Final = msgspec.json.Decoder(_AnyMembers)
_calls: Final = msgspec.json.Decoder(list[RpcCall])
_elements: Final = msgspec.json.Decoder(list[Raw])
_anything: Final = msgspec.json.Decoder(Raw)


def read(body: bytes, maximum: int = MAX_VALUES) -> RpcCall | list[RpcCall]:
    """Read a body: one call, or the calls of a batch.

    A JSON value that is not a request is returned as a `RpcCall` without a method. If a member occurs twice, the last
    one counts. If a batch has more than `maximum` calls, only a few more are read.

    Raises:
        JsonRpcError: -32700, the body is not JSON, not UTF-8, or nested deeper than `MAX_DEPTH`;
            -32600, it holds more than `MAX_VALUES` values.
    """
    try:
        if not body.isascii():
            body.decode()
        batch = not body.startswith(b"{") and body.lstrip(_SPACE).startswith(b"[")
        if (batch and body.count(b"{") > _HARMLESS_CALLS * maximum) or (
            may_hold_more(body, MAX_VALUES)
        ):
            body = bounded(body, maximum if batch else None, MAX_DEPTH)
        brackets = body.count(b"[") + body.count(b"{") if len(body) > MAX_DEPTH else 0
        if batch:
            return _read_batch(body, brackets, maximum)
        if brackets > MAX_DEPTH:
            _check_depth(body)
        return _read_object(body)
    except UnicodeDecodeError as error:
        raise errors.parse_error("text is not UTF-8") from error
    except TooManyValues as error:
        raise errors.invalid_request(f"more than {MAX_VALUES} values") from error
    except (RecursionError, TooDeep) as error:
        raise _too_deep() from error
    except msgspec.DecodeError as error:
        raise errors.parse_error() from error


def _read_batch(body: bytes, brackets: int, maximum: int) -> list[RpcCall]:
    """Read the elements of an array; the exact depth is counted only if the calls need it."""
    if brackets > _HARMLESS_BRACKETS:
        _check_depth(body)
        brackets = 0
    try:
        calls = _calls.decode(body)
    except msgspec.ValidationError:
        if brackets > MAX_DEPTH:
            _check_depth(body)
        # The decoder has stopped at the first element that is not a call, so their number is still unknown.
        elements = _elements.decode(bounded(body, maximum, MAX_DEPTH))
        return [_read_object(raw) if bytes(raw).startswith(b"{") else RpcCall() for raw in elements]
    if brackets > MAX_DEPTH:
        # Each call has an object, and another container if it has params; only the remaining brackets can nest.
        containers = sum(bytes(call.params).startswith((b"[", b"{")) for call in calls)
        if brackets - len(calls) - containers > MAX_DEPTH - 2:
            _check_depth(body)
    return calls


def _read_object(text: bytes | Raw) -> RpcCall:
    """Read one request object; any other value, and members of wrong types, give a call without a method."""
    try:
        return _call.decode(text)
    except msgspec.ValidationError:
        pass
    try:
        return RpcCall(id=_any_members.decode(text).id)
    except msgspec.ValidationError:
        _anything.decode(text)
        return RpcCall()


def _check_depth(body: bytes) -> None:
    if nesting(body) > MAX_DEPTH:
        raise _too_deep()


def _too_deep() -> errors.JsonRpcError:
    return errors.parse_error(f"nested deeper than {MAX_DEPTH}")


def valid_id(call: RpcCall) -> bytes | None:
    """Return the id to echo as JSON text: a number, a string or a literal; None if it is a container.

    It is empty if there is no `id` member.
    """
    identifier = bytes(call.id)
    return None if identifier.startswith((b"{", b"[")) else identifier


def notification(method: str, subscription: str, result: bytes) -> bytes:
    """Return a message from the server that answers no call: one event of a subscription."""
    return b'{"jsonrpc":"2.0","method":"%b","params":{"subscription":"%b","result":%b}}' % (
        method.encode(),
        subscription.encode(),
        result,
    )
