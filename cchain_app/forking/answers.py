"""Decode values in the answers of a fork's remote node, and decide which failures are worth a retry.

Answers are checked before they are decoded. Retries: devnet.md 13.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from cchain_app.forking.errors import BadUpstreamAnswer, UpstreamReason
from primitives import hexadecimal, json_limits
from primitives.hexadecimal import HexError
from primitives.json_limits import TooDeep, TooManyValues

_SMALL: Final = 1000
"""Number of values that any answer may contain."""
DECODED: Final = 48
"""Bytes for each further value of an answer that is decoded: a hash in a list takes 69. A value costs up to 120 bytes
of memory, so the answer and its values together take at most four times the bytes of the answer."""
LISTED: Final = 24
"""Bytes for each further value of an answer whose elements are not decoded: transactions and logs have more than 30."""


class _RpcAnswer(msgspec.Struct):
    """The relevant members of a JSON-RPC response, undecoded."""

    result: Raw = Raw()
    error: Raw = Raw()


_answers: Final = msgspec.json.Decoder(_RpcAnswer)


def read_answer(content: bytes, bytes_for_value: int = 0) -> tuple[Raw, Raw]:
    """Return result and error of a JSON-RPC response, undecoded; a missing member is empty.

    Args:
        content: The body of the response.
        bytes_for_value: The least number of bytes per value in the response: `DECODED` or `LISTED`; 0 for
            a result that is passed on, whose values are not counted.

    Raises:
        BadUpstreamAnswer: It is not a JSON object, not UTF-8, has too many values or is nested too deeply.
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
        BadUpstreamAnswer: It does not have that type.
    """
    try:
        return msgspec.json.decode(raw, type=type_)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad() from error


def decode_uncounted(raw: Raw, type_: Any = Any, bytes_for_value: int = DECODED) -> Any:
    """Count the values of a part of an answer, then decode it. Raises as `read_answer`."""
    text = bytes(raw)
    try:
        json_limits.verify(text, values=_SMALL + len(text) // bytes_for_value)
    except (TooManyValues, TooDeep) as error:
        raise bad() from error
    return decode(raw, type_)


def quantity(value: Any) -> int:
    """Return a number of at most 256 bits.

    Raises:
        BadUpstreamAnswer: It is not such a number.
    """
    try:
        return hexadecimal.decode_quantity(value, 256)
    except (HexError, TypeError, AttributeError) as error:
        raise bad() from error


def data(value: Any, length: int | None = None) -> bytes:
    """Return bytes, of the given length if there is one.

    Raises:
        BadUpstreamAnswer: It is not bytes, or not of that length.
    """
    try:
        content = hexadecimal.decode_data(value)
    except (HexError, TypeError, AttributeError) as error:
        raise bad() from error
    if length is not None and len(content) != length:
        raise bad()
    return content


def bad() -> BadUpstreamAnswer:
    """Return the error for an answer of the wrong form."""
    return BadUpstreamAnswer(UpstreamReason.OTHER_FORM)


LIMIT_CODES: Final = frozenset({429, -32005})
"""Codes of JSON-RPC errors for too many requests."""

TOO_MANY: Final = 429
SERVER_FAULT: Final = 500
"""Lowest HTTP status for a fault of the server."""

_AGAIN: Final = ("rate limit", "header not found", "max retries exceeded", "too many requests")
_FORGOTTEN: Final = (
    "missing trie node", "historical state", "state is not available", "state not available",
    "state is pruned", "archive", "pruned",
)  # fmt: skip
_MAX_SECONDS: Final = 60.0


def is_status_worth_it(status: int) -> bool:
    """Return whether a retry may give another HTTP status."""
    return status == TOO_MANY or status >= SERVER_FAULT


def is_error_worth_it(code: int, message: str) -> bool:
    """Return whether a retry may succeed after a JSON-RPC error."""
    text = message.lower()
    return code in LIMIT_CODES or any(phrase in text for phrase in _AGAIN)


def is_forgotten(message: str) -> bool:
    """Return whether an error message means that the state was pruned, so that an archive node has it."""
    text = message.lower()
    return any(phrase in text for phrase in _FORGOTTEN)


def seconds_until(retry_after: str | None, backoff: float) -> float:
    """Return the seconds to wait: the number in Retry-After, else the backoff.

    A date in that header is ignored, and more than a minute counts as one minute.
    """
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return backoff
    return min(seconds, _MAX_SECONDS) if seconds >= 0 else backoff
