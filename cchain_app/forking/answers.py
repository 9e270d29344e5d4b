"""Values in what the remote node of a fork answers."""

from typing import Any

from cchain_app.forking.errors import BadUpstreamAnswer
from primitives import hexadecimal
from primitives.hexadecimal import HexError


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
