"""ABI decoding whose work and memory are bounded by the length of the data. Pure.

Decoding is eth-abi's. Offsets of an encoding may all lead to the same place: a few kilobytes of arrays in arrays are
gigabytes then. So what is read is counted. A type whose elements have no length (`()[]`, `uint256[0][]`) cannot be
counted so; eth-abi reads no such types.

Importing this module takes a fifth of a second: whoever decodes imports it where it does.
"""

from collections.abc import Sequence
from typing import Any, Final

from eth_abi.abi import encode
from eth_abi.codec import ABIDecoder
from eth_abi.decoding import ContextFramesBytesIO
from eth_abi.exceptions import DecodingError, EncodingError, ParseError
from eth_abi.registry import registry
from typing_extensions import override

from cchain_app.transaction_log.errors import Undecodable

TIMES: Final = 8
"""So often all of the data may be read. A tuple reads its static members twice, those of a tuple in it four times."""
AT_LEAST: Final = 4096
"""Bytes that may be read of however little data."""
LONGEST_TYPE: Final = 16 * 1024
"""Characters of a type."""

_UNDECODABLE: Final = (DecodingError, ParseError, OverflowError, ValueError, RecursionError)


def allowance(size: int) -> int:
    """Return how many bytes may be read of so many."""
    return AT_LEAST + TIMES * size


def decode(types: Sequence[str], data: bytes, *, most: int) -> tuple[Any, ...]:
    """Read arguments, as eth-abi returns them; but of texts the bytes, since they may be no UTF-8.

    Args:
        types: What is to be there.
        data: The encoding, without a selector.
        most: Bytes of data that are decoded.

    Raises:
        Undecodable: It is not of such arguments, longer than `most`, or some of it is shared too often.
    """
    if len(data) > most or sum(map(len, types)) > LONGEST_TYPE:
        raise Undecodable
    try:
        return _DECODER.decode(_plain(types), data)
    except _UNDECODABLE as error:
        raise Undecodable from error


def is_canonical(types: Sequence[str], data: bytes, *, most: int) -> bool:
    """Return whether a compiler would have encoded arguments just so. Raises as `decode`."""
    found = decode(types, data, most=most)
    try:
        return bool(encode(_plain(types), found) == data)
    except (EncodingError, *_UNDECODABLE) as error:
        raise Undecodable from error


def _plain(types: Sequence[str]) -> list[str]:
    # A string is encoded as bytes are.
    return [one.replace("string", "bytes") for one in types]


class _ReadTooOften(DecodingError):
    """More was read than so much data has if none of it is shared."""


class _CountedStream(ContextFramesBytesIO):
    """The data, of which no more can be read than the allowance."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)  # type: ignore[no-untyped-call]  # eth-abi's
        self._left = allowance(len(data))

    @override
    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self._left -= len(found)
        if self._left < 0:
            raise _ReadTooOften
        return found


class _BoundedDecoder(ABIDecoder):
    stream_class = _CountedStream


_DECODER: Final = _BoundedDecoder(registry)
