"""ABI decoding whose work and memory are bounded by the length of the data, and encoding by the same types. Pure.

Decoding is eth-abi's. Offsets of an encoding may all lead to the same place: a few kilobytes of arrays in arrays are
gigabytes then. So what is read is counted. A type whose elements have no length (`()[]`, `uint256[0][]`) cannot be
counted so; eth-abi reads no such types. It keeps what it made of each type for ever, and strangers choose types: so all of
that is forgotten now and then.

Importing this module takes a fifth of a second: whoever decodes imports it where it does.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from eth_abi import grammar
from eth_abi.codec import ABIDecoder, ABIEncoder
from eth_abi.decoding import ContextFramesBytesIO
from eth_abi.exceptions import DecodingError, EncodingError, ParseError
from eth_abi.registry import registry
from typing_extensions import override

from cchain_app.transaction_log.errors import Undecodable, Unencodable

TIMES: Final = 8
"""So often all of the data may be read. A tuple reads its static members twice, those of a tuple in it four times."""
AT_LEAST: Final = 4096
"""Bytes that may be read of however little data."""
LONGEST_TYPE: Final = 2 * 1024
"""Characters of all types of a call: reading them takes a tenth of a second."""
MOST_REMEMBERED: Final = 32 * 1024
"""Characters of types of which eth-abi keeps what it made; half a kilobyte each."""

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
    plain = _plain(types)
    _MEMORY.note(plain)
    try:
        return _DECODER.decode(plain, data)
    except _UNDECODABLE as error:
        raise Undecodable from error


def encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Return the encoding of arguments.

    Args:
        types: Of the arguments.
        values: As eth-abi takes them.

    Raises:
        Unencodable: The types are more than `LONGEST_TYPE`, or there is no such type, or a value is none of it.
    """
    if sum(map(len, types)) > LONGEST_TYPE:
        raise Unencodable
    _MEMORY.note(types)
    try:
        return _ENCODER.encode(types, values)
    except (EncodingError, *_UNDECODABLE) as error:
        raise Unencodable from error


def is_canonical(types: Sequence[str], data: bytes, *, most: int) -> bool:
    """Return whether a compiler would have encoded arguments just so. Raises as `decode`."""
    found = decode(types, data, most=most)
    try:
        return encode(_plain(types), found) == data
    except Unencodable as error:
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


class _Memory:
    """What eth-abi keeps of the types that were used: as much as `MOST_REMEMBERED`, then nothing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: set[tuple[str, ...]] = set()
        self._characters = 0

    def note(self, types: Sequence[str]) -> None:
        """Note that types are used now."""
        key = tuple(types)
        with self._lock:
            if key in self._known:
                return
            self._characters += sum(map(len, types))
            if self._characters > MOST_REMEMBERED:
                self._forget()
                self._characters = sum(map(len, types))
            self._known.add(key)

    def _forget(self) -> None:
        self._known.clear()
        for one in (
            _REGISTRY.get_encoder, _REGISTRY.get_tuple_encoder, _REGISTRY.get_decoder,
            _REGISTRY.get_tuple_decoder, grammar.parse,
        ):  # fmt: skip
            one.cache_clear()


_REGISTRY: Final = registry.copy()  # type: ignore[no-untyped-call]  # eth-abi's
_MEMORY: Final = _Memory()
_DECODER: Final = _BoundedDecoder(_REGISTRY)
_ENCODER: Final = ABIEncoder(_REGISTRY)
