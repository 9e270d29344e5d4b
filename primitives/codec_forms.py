"""Readers and writers of the linear codec: `CodecForm`, and functions that combine forms.

Functions are composed once for each type, so that reading a transaction needs no look-ups.
`struct.error` means that a value does not fit while writing; the codec translates it.
"""

from collections.abc import Callable
from operator import attrgetter
from struct import Struct, error
from typing import Any, NamedTuple

from primitives.codec_errors import CodecError, CodecReason

Write = Callable[[Any], bytes]
Read = Callable[[bytes, int], tuple[Any, int]]
Step = Callable[[bytes, int, list[Any]], int]
"""Reads some fields of a struct, appends their values and returns the end offset."""


class Item(NamedTuple):
    """A value that `struct` supports: its letters, and conversions from and to the type's value."""

    letters: str
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None
    kind: str = ""
    """The reference's name of the type, which its errors contain; empty for fixed bytes."""


class CodecForm(NamedTuple):
    """How values of one type are written and read. A reader also returns the end offset."""

    write: Write
    read: Read
    size: int | None = None
    """Size of each value in bytes, if all values have the same size."""
    item: Item | None = None
    """The form as a part of a larger `struct`, if possible."""


_LENGTH = Struct(">I")
_TEXT_LENGTH = Struct(">H")
_MAX_LENGTH = 2**31 - 1
_KINDS = {"B": "uint8", "H": "uint16", "I": "uint32", "Q": "uint64", "q": "int64"}


def number_form(letter: str) -> CodecForm:
    """Return the form of an unsigned integer, by its letter in `struct`."""
    return _item_form(Item(letter, kind=_KINDS[letter]))


def bool_form() -> CodecForm:
    """Return the form of a boolean: one byte."""
    return _item_form(Item("B", decode=_decode_bool, kind="bool"))


def fixed_form(size: int, decode: Callable[[bytes], Any] | None = None) -> CodecForm:
    """Return the form of a fixed number of bytes; `decode` converts them to the type's values."""

    def encode(value: bytes) -> bytes:
        # struct would pad or truncate
        if len(value) != size:
            raise CodecError(
                CodecReason.UNENCODABLE_VALUE, cause=f"expected {size} bytes but got {len(value)}"
            )
        return value

    return _item_form(Item(f"{size}s", encode, decode))


def _decode_bool(value: int) -> bool:
    if value > 1:
        raise CodecError(CodecReason.INVALID_BOOL)
    return value == 1


def _item_form(item: Item) -> CodecForm:
    struct = Struct(f">{item.letters}")
    encode, decode, size = item.encode, item.decode, struct.size

    def write(value: Any) -> bytes:
        return struct.pack(value if encode is None else encode(value))

    def read(data: bytes, offset: int) -> tuple[Any, int]:
        try:
            (value,) = struct.unpack_from(data, offset)
        except error:
            raise _too_short(item.kind) from None
        return (value if decode is None else decode(value)), offset + size

    return CodecForm(write, read, size, item)


def blob_form() -> CodecForm:
    """Return the form of bytes after a four-byte length."""

    def write(value: bytes) -> bytes:
        return _LENGTH.pack(len(value)) + value

    def read(data: bytes, offset: int) -> tuple[bytes, int]:
        size = _read_length(data, offset)
        end = offset + 4 + size
        return _slice(data, offset + 4, end), end

    return CodecForm(write, read)


def text_form() -> CodecForm:
    """Return the form of text after a two-byte length.

    The codec accepts any bytes as text; invalid UTF-8 comes back unchanged.
    """

    def write(value: str) -> bytes:
        data = value.encode(errors="surrogateescape")
        return _TEXT_LENGTH.pack(len(data)) + data

    def read(data: bytes, offset: int) -> tuple[str, int]:
        try:
            (size,) = _TEXT_LENGTH.unpack_from(data, offset)
        except error:
            raise _too_short("string") from None
        end = offset + 2 + size
        return _slice(data, offset + 2, end, "string").decode(errors="surrogateescape"), end

    return CodecForm(write, read)


def _slice(data: bytes, start: int, end: int, kind: str = "") -> bytes:
    if end > len(data):
        raise _too_short(kind)
    return data[start:end]


def _read_length(data: bytes, offset: int) -> int:
    try:
        (length,) = _LENGTH.unpack_from(data, offset)
    except error:
        raise _too_short("slice") from None
    if length > _MAX_LENGTH:
        raise CodecError(CodecReason.LIST_TOO_LONG, length=length, limit=_MAX_LENGTH)
    return int(length)


def _too_short(kind: str) -> CodecError:
    """Return the error for bytes that end within a value of this kind."""
    within = f"couldn't unmarshal {kind}: " if kind else ""
    return CodecError(CodecReason.INPUT_TOO_SHORT, within=within)


def list_form(element: CodecForm) -> CodecForm:
    """Return the form of a tuple of such elements after their number in four bytes."""
    write_element = element.write

    def write(values: tuple[Any, ...]) -> bytes:
        if values and element.size == 0:
            raise CodecError(CodecReason.ZERO_LENGTH_ELEMENT)
        return b"".join([_LENGTH.pack(len(values)), *map(write_element, values)])

    return CodecForm(write, _items_reader(element.item) if element.item else _list_reader(element))


def _list_reader(element: CodecForm) -> Read:
    read_element = element.read

    def read(data: bytes, offset: int) -> tuple[tuple[Any, ...], int]:
        count = _read_length(data, offset)
        offset += 4
        if count and element.size == 0:
            raise CodecError(CodecReason.ZERO_LENGTH_ELEMENT)
        # allocates no list of that length: the number is untrusted, and reading stops where the bytes end
        values = []
        for _ in range(count):
            value, offset = read_element(data, offset)
            values.append(value)
        return tuple(values), offset

    return read


def _items_reader(item: Item) -> Read:
    struct = Struct(f">{item.letters}")
    decode = item.decode

    def read(data: bytes, offset: int) -> tuple[tuple[Any, ...], int]:
        count = _read_length(data, offset)
        end = offset + 4 + count * struct.size
        items = struct.iter_unpack(_slice(data, offset + 4, end, item.kind))
        if decode is None:
            return tuple([value for (value,) in items]), end
        return tuple([decode(value) for (value,) in items]), end

    return read


def struct_form(cls: Callable[..., Any], members: list[tuple[str, CodecForm]]) -> CodecForm:
    """Return the form of a class whose attributes follow one another and are its arguments."""
    writers: list[Write] = []
    steps: list[Step] = []
    for names, items, form in _segments(members):
        if form is None:
            writers.append(_items_writer(names, items))
            steps.append(_items_step(items))
        else:
            writers.append(_member_writer(names[0], form.write))
            steps.append(_member_step(form.read))

    def write(value: Any) -> bytes:
        return b"".join([write_segment(value) for write_segment in writers])

    def read(data: bytes, offset: int) -> tuple[Any, int]:
        values: list[Any] = []
        for step in steps:
            offset = step(data, offset, values)
        return cls(*values), offset

    sizes = [form.size for _, form in members]
    known_sizes = [size for size in sizes if size is not None]
    return CodecForm(write, read, sum(known_sizes) if len(known_sizes) == len(sizes) else None)


def _segments(
    members: list[tuple[str, CodecForm]],
) -> list[tuple[list[str], list[Item], CodecForm | None]]:
    """Return the members in order: adjacent `struct` items as one segment, others separately."""
    segments: list[tuple[list[str], list[Item], CodecForm | None]] = []
    for name, form in members:
        if form.item is None:
            segments.append(([name], [], form))
        elif segments and segments[-1][2] is None:
            segments[-1][0].append(name)
            segments[-1][1].append(form.item)
        else:
            segments.append(([name], [form.item], None))
    return segments


def _items_struct(items: list[Item]) -> Struct:
    return Struct(">" + "".join(item.letters for item in items))


def _items_writer(names: list[str], items: list[Item]) -> Write:
    pack = _items_struct(items).pack
    encoders = [(place, item.encode) for place, item in enumerate(items) if item.encode]
    # attrgetter of a single name returns no tuple, so pass the first name twice and drop the first value
    attributes = attrgetter(names[0], *names)

    def write(value: Any) -> bytes:
        values = list(attributes(value)[1:])
        for place, encode in encoders:
            values[place] = encode(values[place])
        return pack(*values)

    return write


def _items_step(items: list[Item]) -> Step:
    struct = _items_struct(items)
    unpack_from, size = struct.unpack_from, struct.size
    decoders = [(place, item.decode) for place, item in enumerate(items) if item.decode]

    def step(data: bytes, offset: int, values: list[Any]) -> int:
        start = len(values)
        try:
            values += unpack_from(data, offset)
        except error:
            raise _too_short(_first_missing(items, len(data) - offset)) from None
        for place, decode in decoders:
            values[start + place] = decode(values[start + place])
        return offset + size

    return step


def _first_missing(items: list[Item], available: int) -> str:
    """Return the kind of the first item that does not fit into the available bytes."""
    for item in items:
        available -= Struct(f">{item.letters}").size
        if available < 0:
            break
    return item.kind


def _member_writer(name: str, write_member: Write) -> Write:
    attribute = attrgetter(name)
    return lambda value: write_member(attribute(value))


def _member_step(read_member: Read) -> Step:
    def step(data: bytes, offset: int, values: list[Any]) -> int:
        value, offset = read_member(data, offset)
        values.append(value)
        return offset

    return step
