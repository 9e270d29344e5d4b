"""Recursive Length Prefix: one level of it at a time, so that depth of input is never depth of stack.

Reading is canonical: what is accepted has this one encoding. Reasons are worded as go-ethereum's,
less the "rlp: " in front; what a field means and which size it has is its reader's business.

    RlpError
    ├── ExpectedList, ExpectedString        the other kind stands there
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
"""The longest payload whose length stands in the prefix byte itself."""


class RlpError(Exception):
    """Bytes that are not the canonical RLP of what was expected."""

    reason: ClassVar[str]

    def __init__(self, index: int | None = None) -> None:
        super().__init__(self.reason)
        self.index = index
        """Which element of the list that is being read, where it was `split` that failed."""


class ExpectedList(RlpError):
    """A string where a list belongs."""

    reason = "expected input list"


class ExpectedString(RlpError):
    """A list where a string belongs."""

    reason = "expected input string or byte"


class NonCanonicalSize(RlpError):
    """A length in a longer form than needed, or a byte below 128 with a prefix."""

    reason = "non-canonical size information"


class NonCanonicalInteger(RlpError):
    """An integer with zero bytes in front (zero itself is the empty string)."""

    reason = "non-canonical integer (leading zero bytes)"


class InputTooLong(RlpError):
    """A string longer than its type."""

    reason = "input string too long"


class InputTooShort(RlpError):
    """A string shorter than its type."""

    reason = "input string too short"


class ValueTooLarge(RlpError):
    """An integer of more than 256 bits."""

    reason = "value too large for uint256"


class ElementTooLarge(RlpError):
    """An element that reaches beyond the end of its list."""

    reason = "element is larger than containing list"


class ValueExceedsInput(RlpError):
    """A value that reaches beyond the end of the input."""

    reason = "value size exceeds available input length"


class TooFewElements(RlpError):
    """A list that is too short."""

    reason = "too few elements"


class TooManyElements(RlpError):
    """A list that is too long."""

    reason = "input list has too many elements"


class MoreThanOneValue(RlpError):
    """Bytes behind the value."""

    reason = "input contains more than one value"


class RlpList(bytes):
    """The payload of a list: its elements' encodings one after another, not yet read."""

    __slots__ = ()


def read_only_item(data: bytes, start: int = 0) -> bytes:
    """Read the one item that data consists of, from start on: a string, or an `RlpList`.

    Raises:
        ValueExceedsInput: The input ends before the item does, or is empty.
        NonCanonicalSize: A length or byte is not in its shortest form.
        MoreThanOneValue: Something follows it.
    """
    try:
        item, stop = read_item(data, start, len(data))
    except ElementTooLarge:
        raise ValueExceedsInput from None
    if stop != len(data):
        raise MoreThanOneValue
    return item


def read_item(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Read the item at start, which must end at end or before; also return where it ends.

    Raises:
        ElementTooLarge: It reaches beyond end.
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
    """Read the elements of a list that has count of them; lists among them are `RlpList`.

    Raises:
        TooFewElements: There are fewer.
        TooManyElements: There are more.
        ElementTooLarge: One reaches beyond the end; `index` says which.
        NonCanonicalSize: One is not in its shortest form; `index` says which.
    """
    items: list[bytes] = []
    position, end = 0, len(payload)
    try:
        while position < end:
            if len(items) == count:
                raise TooManyElements
            prefix = payload[position]
            stop = position + 1 if prefix <= 0x80 else position + prefix - 0x7F
            # the usual cases at a third of the cost: a byte, or a short string within its list
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
    """Read the elements of a list one by one, however many there are. Raises as `read_item`."""
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
        InputTooShort: It is shorter.
    """
    if type(item) is RlpList:
        raise ExpectedString
    if len(item) != size:
        raise InputTooLong if len(item) > size else InputTooShort
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
    """Return the encoding of an integer that is not negative, as its shortest big-endian bytes."""
    return encode_bytes(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def encode_list(encodings: Iterable[bytes]) -> bytes:
    """Return the encoding of a list of items that are encoded already."""
    payload = b"".join(encodings)
    return list_prefix(len(payload)) + payload


def list_prefix(size: int) -> bytes:
    """Return what stands in front of a list's payload of size bytes."""
    if size <= SHORT:
        return bytes((0xC0 + size,))
    return _long_prefix(0xC0, size)


def _long_prefix(offset: int, size: int) -> bytes:
    size_of_size = (size.bit_length() + 7) // 8
    return bytes((offset + SHORT + size_of_size,)) + size.to_bytes(size_of_size, "big")
