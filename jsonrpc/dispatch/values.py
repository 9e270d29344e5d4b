"""Readers of single arguments of methods with named params, with the rules of Go's JSON decoder (pchain.md 8.1).

Each reader takes a decoded JSON value, never null, and raises `InvalidParam` for an invalid value; the
caller then gets the same message for every argument. A list that is too long has a message of its own.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from jsonrpc.errors import SERVER_ERROR, InvalidParam, JsonRpcError
from primitives.cb58 import Cb58Error
from primitives.checksummed import EncodingError, TextEncoding
from primitives.ids import ID, FixedId, IdError, NodeID

T = TypeVar("T")
AnyId = TypeVar("AnyId", bound=FixedId)

_DIGITS: Final = re.compile(r"[0-9]{1,20}")
_DECIMAL: Final = re.compile(
    r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?"
)

MAX_LISTED: Final = 1024
"""Maximum values in a list whose values are costly to read: the same number as addresses in getUTXOs."""


class StartIndex(NamedTuple):
    """The start of a page of UTXOs, as the caller wrote it."""

    address: str = ""
    utxo: str = ""

    @property
    def is_given(self) -> bool:
        """Whether it has a position at all."""
        return bool(self.address or self.utxo)


def text(value: Any) -> str:
    """Read a JSON string."""
    if not isinstance(value, str):
        raise InvalidParam("not a string")
    return value


def boolean(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise InvalidParam("not a boolean")
    return value


def uint64(value: Any) -> int:
    """Read a 64-bit unsigned integer, with or without quotes."""
    return _number(value, 64)


def uint32(value: Any) -> int:
    """Read a 32-bit unsigned integer, with or without quotes."""
    return _number(value, 32)


def uint16(value: Any) -> int:
    """Read a 16-bit unsigned integer, with or without quotes."""
    return _number(value, 16)


def uint8(value: Any) -> int:
    """Read an 8-bit unsigned integer, with or without quotes."""
    return _number(value, 8)


def decimal(value: Any) -> float:
    """Read a number that may have a fraction, with or without quotes."""
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            raise InvalidParam("not a number")
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParam("not a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidParam("number out of range") from None


def identifier(value: Any) -> ID:
    """Read an ID in CB58."""
    return _typed(ID, value)


def node_id(value: Any) -> NodeID:
    """Read a node ID: `NodeID-` and CB58."""
    return _typed(NodeID, value)


def encoding(value: Any) -> TextEncoding:
    """Read the name of an encoding, in any letter case."""
    try:
        return TextEncoding.parse(text(value))
    except EncodingError as error:
        raise InvalidParam(str(error)) from None


def start_index(value: Any) -> StartIndex:
    """Read an object of two strings, either of which may be missing."""
    if not isinstance(value, dict):
        raise InvalidParam("not an object")
    given = {name.lower(): part for name, part in value.items() if part is not None}
    return StartIndex(text(given.get("address", "")), text(given.get("utxo", "")))


def list_of(read: Callable[[Any], T], missing: T) -> Callable[[Any], list[T]]:
    """Return a reader of arrays, in which null becomes `missing`, as in Go."""

    def read_list(value: Any) -> list[T]:
        if not isinstance(value, list):
            raise InvalidParam("not an array")
        return [missing if element is None else read(element) for element in value]

    return read_list


def few_of(what: str, read: Callable[[Any], T], missing: T) -> Callable[[Any], list[T]]:
    """Return a reader of arrays that rejects more than `MAX_LISTED` values with a specific error.

    Unspecified: the reference reads as many values as fit into a request.
    """
    read_all = list_of(read, missing)

    def read_list(value: Any) -> list[T]:
        if isinstance(value, list) and len(value) > MAX_LISTED:
            raise too_many(what, len(value), MAX_LISTED)
        return read_all(value)

    return read_list


def _number(value: Any, bits: int) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise InvalidParam(f"not a number of {bits} bits")
    return value


def _typed(kind: type[AnyId], value: Any) -> AnyId:
    try:
        return kind.parse(text(value))
    except (Cb58Error, IdError) as error:
        raise InvalidParam(str(error)) from None


MAX_QUOTED: Final = 100
"""Maximum characters of a caller's string in a message: each may take six bytes when encoded."""


def refused(message: str) -> JsonRpcError:
    """Return an error object with the reference's message for a call that cannot be answered."""
    return JsonRpcError(SERVER_ERROR, message)


def too_many(what: str, given: int, most: int) -> JsonRpcError:
    """Return an error object with the reference's message for a list that is too long."""
    return refused(f"number of {what} given, {given}, exceeds maximum, {most}")


def shortened(text: str) -> str:
    """Return a caller's string for use in messages, truncated if it is long.

    Unspecified: the reference repeats the whole string.
    """
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "..."


def quoted(text: str) -> str:
    """Return a string quoted for messages, truncated if it is long."""
    return json.dumps(shortened(text), ensure_ascii=False)
