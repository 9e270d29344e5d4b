"""Recursive Length Prefix, decoded one level at a time, so that nested input never deepens the stack.

Decoding is canonical: a value has exactly one accepted encoding. Error messages are go-ethereum's
without the prefix "rlp: ". The caller checks the meaning and the size of each field.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from primitives.reasons import ErrorWithReason

SHORT = 55
"""Maximum size of a payload whose length is in the prefix byte itself."""


class RlpReason(StrEnum):
    """Why bytes are not the canonical RLP of the expected value."""

    EXPECTED_LIST = "expected input list"
    EXPECTED_STRING = "expected input string or byte"
    # A length in a longer form than needed, or a byte below 128 with a prefix.
    NON_CANONICAL_SIZE = "non-canonical size information"
    # Zero itself is the empty string.
    NON_CANONICAL_INTEGER = "non-canonical integer (leading zero bytes)"
    INPUT_TOO_LONG = "input string too long"
    INPUT_TOO_SHORT = "input string too short"
    VALUE_TOO_LARGE = "value too large for uint256"
    # The element extends beyond the end of its list.
    ELEMENT_TOO_LARGE = "element is larger than containing list"
    VALUE_EXCEEDS_INPUT = "value size exceeds available input length"
    TOO_FEW_ELEMENTS = "too few elements"
    TOO_MANY_ELEMENTS = "input list has too many elements"
    MORE_THAN_ONE_VALUE = "input contains more than one value"


class RlpError(ErrorWithReason):
    """Bytes that are not the canonical RLP of the expected value."""

    index: int | None = None
    """Index of the failing element, if `split` failed."""


class RlpList(bytes):
    """The payload of a list: the encodings of its elements, not yet decoded."""

    __slots__ = ()


def read_only_item(data: bytes, start: int = 0) -> bytes:
    """Read the single item that `data` contains from `start` on: a string, or an `RlpList`.

    Raises:
        RlpError: The input ends before the item does, or is empty; a length or byte is not in its
            shortest form; or there are bytes after the item.
    """
    try:
        item, stop = read_item(data, start, len(data))
    except RlpError as error:
        if error.reason is RlpReason.ELEMENT_TOO_LARGE:
            raise RlpError(RlpReason.VALUE_EXCEEDS_INPUT) from None
        raise
    if stop != len(data):
        raise RlpError(RlpReason.MORE_THAN_ONE_VALUE)
    return item


def read_item(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Read the item at `start`, which must not extend beyond `end`; also return its end.

    Raises:
        RlpError: The item extends beyond `end`, or a length or byte is not in its shortest form.
    """
    if start >= end:
        raise RlpError(RlpReason.ELEMENT_TOO_LARGE)
    prefix = data[start]
    if prefix < 0x80:
        return data[start : start + 1], start + 1
    is_list = prefix >= 0xC0
    size = prefix - (0xC0 if is_list else 0x80)
    start += 1
    if size > SHORT:
        start, size = _read_long_size(data, start, end, size - SHORT)
    stop = start + size
    if stop > end:
        raise RlpError(RlpReason.ELEMENT_TOO_LARGE)
    item = data[start:stop]
    if is_list:
        return RlpList(item), stop
    if size == 1 and item[0] < 0x80:
        raise RlpError(RlpReason.NON_CANONICAL_SIZE)
    return item, stop


def _read_long_size(data: bytes, start: int, end: int, size_of_size: int) -> tuple[int, int]:
    stop = start + size_of_size
    if stop > end:
        raise RlpError(RlpReason.ELEMENT_TOO_LARGE)
    size = int.from_bytes(data[start:stop], "big")
    if data[start] == 0 or size <= SHORT:
        raise RlpError(RlpReason.NON_CANONICAL_SIZE)
    return stop, size


def split(payload: bytes, count: int) -> list[bytes]:
    """Read the elements of a list of `count` elements; nested lists are `RlpList`.

    Raises:
        RlpError: There are fewer; there are more; an element extends beyond the end, or is not in
            its shortest form; `index` is its index.
    """
    items: list[bytes] = []
    position, end = 0, len(payload)
    try:
        while position < end and len(items) < count:
            prefix = payload[position]
            stop = position + 1 if prefix <= 0x80 else position + prefix - 0x7F
            # fast path for the usual cases, at a third of the cost: a byte, or a short string within its list
            if prefix <= 0x80 or (0x81 < prefix <= 0x80 + SHORT and stop <= end):
                items.append(payload[position + (prefix >= 0x80) : stop])
                position = stop
            else:
                item, position = read_item(payload, position, end)
                items.append(item)
    except RlpError as error:
        error.index = len(items)
        raise
    if position < end:
        raise RlpError(RlpReason.TOO_MANY_ELEMENTS)
    if len(items) < count:
        raise RlpError(RlpReason.TOO_FEW_ELEMENTS)
    return items


def iterate(payload: bytes) -> Iterator[bytes]:
    """Yield the elements of a list, of any number. Raises as `read_item`."""
    position, end = 0, len(payload)
    while position < end:
        item, position = read_item(payload, position, end)
        yield item


def read_uint64(item: bytes) -> int:
    """Read an integer of at most 64 bits.

    Raises:
        RlpError: It is a list; it has more than 8 bytes; or it has leading zero bytes.
    """
    if type(item) is RlpList:
        raise RlpError(RlpReason.EXPECTED_STRING)
    if len(item) > 8:
        raise RlpError(RlpReason.INPUT_TOO_LONG)
    if item[:1] == b"\0":
        raise RlpError(RlpReason.NON_CANONICAL_INTEGER)
    return int.from_bytes(item, "big")


def read_uint8(item: bytes) -> int:
    """Read an integer of at most 8 bits. Raises as `read_uint64`."""
    if type(item) is not RlpList and len(item) > 1:
        raise RlpError(RlpReason.INPUT_TOO_LONG)
    return read_uint64(item)


def read_uint256(item: bytes) -> int:
    """Read an integer of at most 256 bits. Raises as `read_uint64`, but with `VALUE_TOO_LARGE` for 33 bytes."""
    if type(item) is RlpList:
        raise RlpError(RlpReason.EXPECTED_STRING)
    if len(item) > 32:
        raise RlpError(RlpReason.VALUE_TOO_LARGE)
    if item[:1] == b"\0":
        raise RlpError(RlpReason.NON_CANONICAL_INTEGER)
    return int.from_bytes(item, "big")


def read_bytes(item: bytes) -> bytes:
    """Read a string of any length.

    Raises:
        RlpError: It is a list.
    """
    if type(item) is RlpList:
        raise RlpError(RlpReason.EXPECTED_STRING)
    return item


def read_fixed(item: bytes, size: int) -> bytes:
    """Read a string of exactly size bytes.

    Raises:
        RlpError: It is a list; it is longer; or it is shorter.
    """
    if type(item) is RlpList:
        raise RlpError(RlpReason.EXPECTED_STRING)
    if len(item) != size:
        raise RlpError(RlpReason.INPUT_TOO_LONG if len(item) > size else RlpReason.INPUT_TOO_SHORT)
    return item


def encode_bytes(data: bytes) -> bytes:
    """Return the encoding of a string."""
    size = len(data)
    if size == 1 and data[0] < 0x80:
        return data
    if size <= SHORT:
        return bytes((0x80 + size,)) + data
    return _long_prefix(0x80, size) + data


def encode_uint(number: int) -> bytes:
    """Return the encoding of a non-negative integer, as its shortest big-endian bytes."""
    return encode_bytes(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def encode_list(encodings: Iterable[bytes]) -> bytes:
    """Return the encoding of a list of encoded items."""
    payload = b"".join(encodings)
    return list_prefix(len(payload)) + payload


def list_prefix(size: int) -> bytes:
    """Return the prefix of a list with a payload of `size` bytes."""
    if size <= SHORT:
        return bytes((0xC0 + size,))
    return _long_prefix(0xC0, size)


def _long_prefix(offset: int, size: int) -> bytes:
    size_of_size = (size.bit_length() + 7) // 8
    return bytes((offset + SHORT + size_of_size,)) + size.to_bytes(size_of_size, "big")
