"""ABI decoding whose work and memory are bounded by the length of the data, and encoding by the same types. Pure.

The decoder is eth-abi's. All offsets of an encoding may lead to the same place, so that a few kilobytes of nested
arrays decode to gigabytes. The bytes that are read are therefore counted. A type whose elements have no length
(`()[]`, `uint256[0][]`) cannot be counted in this way; eth-abi does not read such types. eth-abi caches its parsers
of each type without a limit, and untrusted callers choose the types, so these caches are cleared from time to time.

Importing this module takes a fifth of a second, so import it where it is used.
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
"""How many times all of the data may be read. A tuple reads its static members twice, those of an inner tuple
four times."""
AT_LEAST: Final = 4096
"""Bytes that may be read even if there is less data."""
LONGEST_TYPE: Final = 2 * 1024
"""Maximum length of all types of a call in characters: parsing them takes a tenth of a second."""
MAX_REMEMBERED: Final = 32 * 1024
"""Characters of types whose parsers eth-abi may cache, at half a kilobyte each."""

_UNDECODABLE: Final = (DecodingError, ParseError, OverflowError, ValueError, RecursionError)


def allowance(size: int) -> int:
    """Return how many bytes may be read from data of this size."""
    return AT_LEAST + TIMES * size


def decode(types: Sequence[str], data: bytes, *, most: int) -> tuple[Any, ...]:
    """Decode arguments as eth-abi does, except that strings are returned as bytes, since they may not be UTF-8.

    Args:
        types: The expected types.
        data: The encoding, without a selector.
        most: Maximum size of the data in bytes.

    Raises:
        Undecodable: It does not encode such arguments, is longer than `most`, or shares parts too often.
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
        types: Types of the arguments.
        values: The values in the form that eth-abi accepts.

    Raises:
        Unencodable: The types are longer than `LONGEST_TYPE`, or a type does not exist, or a value does not match.
    """
    if sum(map(len, types)) > LONGEST_TYPE:
        raise Unencodable
    _MEMORY.note(types)
    try:
        return _ENCODER.encode(types, values)
    except (EncodingError, *_UNDECODABLE) as error:
        raise Unencodable from error


def is_canonical(types: Sequence[str], data: bytes, *, most: int) -> bool:
    """Return whether a compiler would encode the arguments in the same way. Raises as `decode`."""
    found = decode(types, data, most=most)
    try:
        return encode(_plain(types), found) == data
    except Unencodable as error:
        raise Undecodable from error


def _plain(types: Sequence[str]) -> list[str]:
    # Strings and bytes have the same encoding.
    return [kind.replace("string", "bytes") for kind in types]


class _ReadTooOften(DecodingError):
    """More bytes were read than possible without shared parts."""


class _CountedStream(ContextFramesBytesIO):
    """A stream of the data that limits how many bytes are read."""

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
    """Limits eth-abi's caches of types: after `MAX_REMEMBERED` characters they are cleared.

    Not a `BoundedCache`, because eth-abi's caches cannot evict single entries.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: set[tuple[str, ...]] = set()
        self._characters = 0

    def note(self, types: Sequence[str]) -> None:
        """Record that types are used now."""
        key = tuple(types)
        with self._lock:
            if key in self._known:
                return
            self._characters += sum(map(len, types))
            if self._characters > MAX_REMEMBERED:
                self._forget()
                self._characters = sum(map(len, types))
            self._known.add(key)

    def _forget(self) -> None:
        self._known.clear()
        for value in (
            _REGISTRY.get_encoder, _REGISTRY.get_tuple_encoder, _REGISTRY.get_decoder,
            _REGISTRY.get_tuple_decoder, grammar.parse,
        ):  # fmt: skip
            value.cache_clear()


_REGISTRY: Final = registry.copy()  # type: ignore[no-untyped-call]  # eth-abi's
_MEMORY: Final = _Memory()
_DECODER: Final = _BoundedDecoder(_REGISTRY)
_ENCODER: Final = ABIEncoder(_REGISTRY)
