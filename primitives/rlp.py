"""Recursive Length Prefix, decoded one level at a time, so that nested input never deepens the stack.

Decoding is canonical: a value has exactly one accepted encoding. Error messages are go-ethereum's
without the prefix "rlp: ". The caller checks the meaning and the size of each field.

    RlpError
    ├── ExpectedList, ExpectedString        the other kind of value
    ├── NonCanonicalSize                    a length, or a single byte, in a needlessly long form
    ├── NonCanonicalInteger                 leading zero bytes
    ├── InputTooLong, InputTooShort         a value of another size than its type
    ├── ValueTooLarge                       an integer above 256 bits
    ├── ElementTooLarge, ValueExceedsInput  the bytes end before the value does
    ├── TooFewElements, TooManyElements     a list of another length
    └── MoreThanOneValue                    bytes after the value
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

SHORT = 55
"""Maximum size of a payload whose length is in the prefix byte itself."""


class RlpError(Exception):
    """Bytes that are not the canonical RLP of the expected value."""

    reason: ClassVar[str]

    def __init__(self, index: int | None = None) -> None:
        super().__init__(self.reason)
        self.index = index
        """Index of the failing element, if `split` failed."""


class ExpectedList(RlpError):
    """A string instead of a list."""

    reason = "expected input list"


class ExpectedString(RlpError):
    """A list instead of a string."""

    reason = "expected input string or byte"


class NonCanonicalSize(RlpError):
    """A length in a longer form than needed, or a byte below 128 with a prefix."""

    reason = "non-canonical size information"


class NonCanonicalInteger(RlpError):
    """An integer with leading zero bytes (zero itself is the empty string)."""

    reason = "non-canonical integer (leading zero bytes)"


class InputTooLong(RlpError):
    """A string longer than its type."""

    reason = "input string too long"


class RlpTooShort(RlpError):
    """A string shorter than its type."""

    reason = "input string too short"


class ValueTooLarge(RlpError):
    """An integer of more than 256 bits."""

    reason = "value too large for uint256"


class ElementTooLarge(RlpError):
    """An element that extends beyond the end of its list."""

    reason = "element is larger than containing list"


class ValueExceedsInput(RlpError):
    """A value that extends beyond the end of the input."""

    reason = "value size exceeds available input length"


class TooFewElements(RlpError):
    """A list that is too short."""

    reason = "too few elements"


class TooManyElements(RlpError):
    """A list that is too long."""

    reason = "input list has too many elements"


class MoreThanOneValue(RlpError):
    """Bytes after the value."""

    reason = "input contains more than one value"


class RlpList(bytes):
    """The payload of a list: the encodings of its elements, not yet decoded."""

    __slots__ = ()


def read_only_item(data: bytes, start: int = 0) -> bytes:
    """Read the single item that `data` contains from `start` on: a string, or an `RlpList`.

    Raises:
        ValueExceedsInput: The input ends before the item does, or is empty.
        NonCanonicalSize: A length or byte is not in its shortest form.
        MoreThanOneValue: There are bytes after the item.
    """
    try:
        item, stop = read_item(data, start, len(data))
    except ElementTooLarge:
        raise ValueExceedsInput from None
    if stop != len(data):
        raise MoreThanOneValue
    return item


def read_item(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Read the item at `start`, which must not extend beyond `end`; also return its end.

    Raises:
        ElementTooLarge: The item extends beyond `end`.
        NonCanonicalSize: A length or byte is not in its shortest form.
    """
    if start >= end:
        raise ElementTooLarge
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
        raise ElementTooLarge
    item = data[start:stop]
    if is_list:
        return RlpList(item), stop
    if size == 1 and item[0] < 0x80:
        raise NonCanonicalSize
    return item, stop


def _read_long_size(data: bytes, start: int, end: int, size_of_size: int) -> tuple[int, int]:
    stop = start + size_of_size
    if stop > end:
        raise ElementTooLarge
    size = int.from_bytes(data[start:stop], "big")
    if data[start] == 0 or size <= SHORT:
        raise NonCanonicalSize
    return stop, size


def split(payload: bytes, count: int) -> list[bytes]:
    """Read the elements of a list of `count` elements; nested lists are `RlpList`.

    Raises:
        TooFewElements: There are fewer.
        TooManyElements: There are more.
        ElementTooLarge: An element extends beyond the end; `index` is its index.
        NonCanonicalSize: An element is not in its shortest form; `index` is its index.
    """
    items: list[bytes] = []
    position, end = 0, len(payload)
    try:
        while position < end:
            if len(items) == count:
                raise TooManyElements
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
    if len(items) < count:
        raise TooFewElements
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
        ExpectedString: It is a list.
        InputTooLong: It has more than 8 bytes.
        NonCanonicalInteger: It has leading zero bytes.
    """
    if type(item) is RlpList:
        raise ExpectedString
    if len(item) > 8:
        raise InputTooLong
    if item[:1] == b"\0":
        raise NonCanonicalInteger
    return int.from_bytes(item, "big")


def read_uint8(item: bytes) -> int:
    """Read an integer of at most 8 bits. Raises as `read_uint64`."""
    if type(item) is not RlpList and len(item) > 1:
        raise InputTooLong
    return read_uint64(item)


def read_uint256(item: bytes) -> int:
    """Read an integer of at most 256 bits. Raises as `read_uint64`, but ValueTooLarge for 33 bytes."""
    if type(item) is RlpList:
        raise ExpectedString
    if len(item) > 32:
        raise ValueTooLarge
    if item[:1] == b"\0":
        raise NonCanonicalInteger
    return int.from_bytes(item, "big")


def read_bytes(item: bytes) -> bytes:
    """Read a string of any length.

    Raises:
        ExpectedString: It is a list.
    """
    if type(item) is RlpList:
        raise ExpectedString
    return item


def read_fixed(item: bytes, size: int) -> bytes:
    """Read a string of exactly size bytes.

    Raises:
        ExpectedString: It is a list.
        InputTooLong: It is longer.
        RlpTooShort: It is shorter.
    """
    if type(item) is RlpList:
        raise ExpectedString
    if len(item) != size:
        raise InputTooLong if len(item) > size else RlpTooShort
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
