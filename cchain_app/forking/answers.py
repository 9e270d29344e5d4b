"""Values in the answers of a fork's remote node. Answers are checked before they are decoded."""

from typing import Any, Final

import msgspec
from msgspec import Raw

from cchain_app.forking.errors import BadUpstreamAnswer
from primitives import hexadecimal, json_limits
from primitives.hexadecimal import HexError
from primitives.json_limits import TooDeep, TooManyValues

_SMALL: Final = 1000
"""Values that any answer may hold."""
DECODED: Final = 48
"""Bytes for each further value of an answer that is decoded: a hash in a list takes 69. A value costs up to 120 bytes
of memory, so the answer and its values together take at most four times the bytes of the answer."""
LISTED: Final = 24
"""Bytes for each further value of an answer whose elements are not decoded: transactions and logs have more than 30."""


class _Answer(msgspec.Struct):
    """The members of a JSON-RPC response that count, undecoded."""

    result: Raw = Raw()
    error: Raw = Raw()


_answers: Final = msgspec.json.Decoder(_Answer)


def read_answer(content: bytes, bytes_for_value: int = 0) -> tuple[Raw, Raw]:
    """Return result and error of a JSON-RPC response as they came; a missing member is empty.

    Args:
        content: The body of the response.
        bytes_for_value: How long the response is at least for each of its values: `DECODED` or `LISTED`; 0: of a
            result that is passed on values are not counted.

    Raises:
        BadUpstreamAnswer: It is no JSON object, not UTF-8, holds too many values or is nested too deeply.
    """
    try:
        if bytes_for_value:
            json_limits.verify(content, values=_SMALL + len(content) // bytes_for_value)
        answer = _answers.decode(content)
    except (msgspec.DecodeError, RecursionError, TooManyValues, TooDeep) as error:
        raise bad() from error
    if not json_limits.is_utf8(content):
        raise bad()
    return answer.result, answer.error


def decode(raw: Raw, type_: Any = Any) -> Any:
    """Decode a part of an answer whose values were counted.

    Raises:
        BadUpstreamAnswer: It is not of that type.
    """
    try:
        return msgspec.json.decode(raw, type=type_)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad() from error


def decode_uncounted(raw: Raw, type_: Any = Any, bytes_for_value: int = DECODED) -> Any:
    """Decode a part of an answer whose values were not counted: that is done first. Raises as `read_answer`."""
    text = bytes(raw)
    try:
        json_limits.verify(text, values=_SMALL + len(text) // bytes_for_value)
    except (TooManyValues, TooDeep) as error:
        raise bad() from error
    return decode(raw, type_)


def quantity(value: Any) -> int:
    """Return a number of at most 256 bits.

    Raises:
        BadUpstreamAnswer: It is none.
    """
    try:
        return hexadecimal.decode_quantity(value, 256)
    except (HexError, TypeError, AttributeError) as error:
        raise bad() from error


def data(value: Any, length: int | None = None) -> bytes:
    """Return bytes, of a length where one is given.

    Raises:
        BadUpstreamAnswer: They are none, or more or fewer.
    """
    try:
        found = hexadecimal.decode_data(value)
    except (HexError, TypeError, AttributeError) as error:
        raise bad() from error
    if length is not None and len(found) != length:
        raise bad()
    return found


def bad() -> BadUpstreamAnswer:
    """Return that an answer has another form than it should."""
    return BadUpstreamAnswer("the upstream answered with something else than was asked for")
