"""The linear codec compared to its table of layouts (pchain.md 2.1), on generated dataclasses."""

from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primitives import codec_errors as errors
from primitives.codec import INTERFACE, U8, U16, U32, U64, Blob, Codec, FixedLayout, Text
from primitives.ids import ID, NodeID, ShortID
from tests.builders.reasons import raises

# A generated layout: an annotation, and a strategy for its values.
Layout = tuple[Any, st.SearchStrategy[Any]]

SIZES = {U8: 1, U16: 2, U32: 4, U64: 8}
LEAVES: list[Layout] = [
    *((number, st.integers(0, 256**size - 1)) for number, size in SIZES.items()),
    (bool, st.booleans()),
    (Text, st.text(max_size=10)),
    (Blob, st.binary(max_size=10)),
    (Annotated[bytes, FixedLayout(3)], st.binary(min_size=3, max_size=3)),
    (ID, st.binary(min_size=32, max_size=32).map(ID)),
    (NodeID, st.binary(min_size=20, max_size=20).map(NodeID)),
]

TOO_SHORT = {errors.CodecReason.INPUT_TOO_SHORT, errors.CodecReason.MISSING_TYPE_ID}


class Shape:
    """An interface."""


class Color:
    """Another interface."""


@dataclass(frozen=True, slots=True)
class Circle(Shape):
    radius: U16


@dataclass(frozen=True, slots=True)
class Box(Shape):
    inner: Annotated[Shape, INTERFACE]


@dataclass(frozen=True, slots=True)
class Row(Shape):
    shapes: tuple[Annotated[Shape, INTERFACE], ...]
    color: Annotated[Color, INTERFACE]


@dataclass(frozen=True, slots=True)
class Red(Color):
    pass


@dataclass(frozen=True, slots=True)
class Unregistered(Shape):
    pass


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Nothings:
    nothings: tuple[Empty, ...]


@dataclass(frozen=True, slots=True)
class Mixed:
    number: U32
    signature: Annotated[bytes, FixedLayout(4)]
    flag: bool
    name: Text
    data: Blob
    addresses: tuple[ShortID, ...]


TYPES = {1: Circle, 2: Box, 3: Row, 9: Red}
CODEC = Codec(TYPES)
SHAPE = Annotated[Shape, INTERFACE]
MIXED = Mixed(1, b"sign", flag=True, name="ä", data=b"\xff\xfe", addresses=(ShortID(bytes(20)),))
MIXED_BYTES = bytes.fromhex(
    "00000001 7369676e 01 0002c3a4 00000002fffe 00000001" + "00" * 20
)  # fmt: skip


def structs(members: list[Layout]) -> Layout:
    cls = make_dataclass(
        "Generated", [(f"f{i}", annotation) for i, (annotation, _) in enumerate(members)],
        frozen=True, slots=True,
    )  # fmt: skip
    return cls, st.tuples(*(values for _, values in members)).map(lambda values: cls(*values))


def lists(element: Layout) -> Layout:
    annotation, values = element
    return tuple[annotation, ...], st.lists(values, max_size=4).map(tuple)


layouts = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: inner.map(lists) | st.lists(inner, min_size=1, max_size=5).map(structs),
    max_leaves=12,
)
shapes = st.builds(Circle, st.integers(0, 2**16 - 1)) | st.builds(
    Box, st.builds(Circle, st.integers(0, 2**16 - 1))
)
rows = st.builds(Row, st.lists(shapes, max_size=4).map(tuple), st.builds(Red))


@st.composite
def structs_with_values(draw: st.DrawFn) -> tuple[Any, Any]:
    members = draw(st.lists(layouts, min_size=1, max_size=5))
    cls, values = structs(members)
    return cls, draw(values)


def expected_bytes(annotation: Any, value: Any) -> bytes:
    """Encode a value by the table, field by field."""
    if annotation in SIZES or annotation is bool:
        return int(value).to_bytes(SIZES.get(annotation, 1), "big")
    if annotation == Text:
        return len(value.encode()).to_bytes(2, "big") + value.encode()
    if isinstance(value, tuple):
        element, _ = get_args(annotation)
        parts = [expected_bytes(element, item) for item in value]
        return len(value).to_bytes(4, "big") + b"".join(parts)
    if is_dataclass(value):
        hints = get_type_hints(annotation, include_extras=True)
        names = [field.name for field in fields(value)]
        return b"".join(expected_bytes(hints[name], getattr(value, name)) for name in names)
    return (len(value).to_bytes(4, "big") if annotation == Blob else b"") + bytes(value)


@settings(deadline=None)
@given(structs_with_values())
def test_value_is_encoded_by_the_table_and_round_trips(drawn: tuple[Any, Any]) -> None:
    cls, value = drawn
    data = CODEC.marshal(value)
    assert data == b"\0\0" + expected_bytes(cls, value)
    assert CODEC.pack(value) == data[2:]
    assert CODEC.unmarshal(cls, data) == value


@settings(deadline=None)
@given(structs_with_values())
def test_truncated_value_is_refused(drawn: tuple[Any, Any]) -> None:
    cls, value = drawn
    data = CODEC.marshal(value)
    for size in range(2, len(data)):
        with raises(
            errors.CodecReason.INPUT_TOO_SHORT,
            kind=errors.CodecError,
            match=r"has insufficient length for input$",
        ):
            CODEC.unmarshal(cls, data[:size])


@settings(deadline=None)
@given(structs_with_values(), st.binary(min_size=1, max_size=5))
def test_trailing_bytes_are_refused(drawn: tuple[Any, Any], more: bytes) -> None:
    cls, value = drawn
    data = CODEC.marshal(value)
    message = rf"^trailing buffer space: read {len(data)} provided {len(data + more)}$"
    with raises(errors.CodecReason.TRAILING_BYTES, kind=errors.CodecError, match=message):
        CODEC.unmarshal(cls, data + more)


@settings(deadline=None)
@given(structs_with_values(), st.binary(max_size=5), st.binary(max_size=5))
def test_value_is_read_at_an_offset(drawn: tuple[Any, Any], before: bytes, after: bytes) -> None:
    cls, value = drawn
    data = CODEC.pack(value)
    found = CODEC.read(cls, before + data + after, len(before))
    assert found == (value, len(before + data))


@settings(deadline=None)
@given(rows)
def test_interface_values_round_trip(row: Row) -> None:
    data = CODEC.marshal(row, SHAPE)
    assert data[2:6] == bytes.fromhex("00000003")
    assert CODEC.unmarshal(SHAPE, data) == row


@settings(deadline=None)
@given(rows)
def test_a_value_with_interfaces_that_is_cut_off_is_too_short(row: Row) -> None:
    data = CODEC.marshal(row)
    for size in range(2, len(data)):
        with pytest.raises(errors.CodecError) as caught:
            CODEC.unmarshal(Row, data[:size])
        assert caught.value.reason in TOO_SHORT


@settings(deadline=None)
@given(layouts, st.binary(max_size=60))
def test_bytes_are_accepted_only_if_they_are_the_value_s_bytes(layout: Layout, data: bytes) -> None:
    annotation, _ = layout
    try:
        value, end = CODEC.read(annotation, data, 0)
    except errors.CodecError:
        return
    assert CODEC.pack(value, annotation) == data[:end]


@given(st.binary(max_size=80) | st.lists(st.sampled_from(b"\0\1\2\3\t"), max_size=60).map(bytes))
def test_random_interface_bytes_are_refused_or_round_trip(data: bytes) -> None:
    try:
        value, end = CODEC.read(SHAPE, data, 0)
    except errors.CodecError:
        return
    assert CODEC.pack(value, SHAPE) == data[:end]


def test_every_kind_of_field_is_encoded_in_order() -> None:
    assert CODEC.pack(MIXED) == MIXED_BYTES
    assert CODEC.unmarshal(Mixed, b"\0\0" + MIXED_BYTES) == MIXED


def test_decoded_identifiers_keep_their_type() -> None:
    (address,) = CODEC.unmarshal(Mixed, b"\0\0" + MIXED_BYTES).addresses
    assert type(address) is ShortID


def test_invalid_utf_8_text_round_trips() -> None:
    data = b"\x00\x02\xff\xc3"
    text, _ = CODEC.read(Text, data, 0)
    assert CODEC.pack(text, Text) == data


@given(st.integers(0, 2**32 - 1).filter(lambda number: number not in TYPES))
def test_an_unknown_type_is_refused_by_its_number(type_id: int) -> None:
    message = rf"^couldn't unmarshal interface: unknown type ID {type_id}$"
    with raises(
        errors.CodecReason.UNKNOWN_TYPE_ID, kind=errors.CodecError, match=message
    ) as caught:
        CODEC.read(SHAPE, type_id.to_bytes(4, "big") + bytes(40), 0)
    assert caught.value.values == {"type_id": type_id}


def test_a_type_of_another_interface_is_refused() -> None:
    message = r"^couldn't unmarshal interface: Red does not implement interface Shape$"
    with raises(errors.CodecReason.WRONG_INTERFACE, kind=errors.CodecError, match=message):
        CODEC.read(SHAPE, bytes.fromhex("00000009"), 0)


def test_a_number_of_a_type_that_is_cut_off_is_named_as_such() -> None:
    message = r"^couldn't unmarshal interface: packer has insufficient length for input$"
    with raises(errors.CodecReason.MISSING_TYPE_ID, kind=errors.CodecError, match=message):
        CODEC.unmarshal(SHAPE, bytes.fromhex("0000 000000"))


def test_recursive_type_is_refused() -> None:
    message = r"^recursive interface types: Box$"
    with raises(errors.CodecReason.RECURSIVE_TYPE, kind=errors.CodecError, match=message):
        CODEC.read(SHAPE, bytes.fromhex("00000002 00000002 00000001 0000"), 0)
    with raises(errors.CodecReason.RECURSIVE_TYPE, kind=errors.CodecError, match=message):
        CODEC.pack(Box(Box(Circle(0))), SHAPE)


def test_nesting_as_deep_as_the_limit_allows_is_refused_at_once() -> None:
    with raises(errors.CodecReason.RECURSIVE_TYPE, kind=errors.CodecError):
        CODEC.unmarshal(SHAPE, b"\0\0" + bytes.fromhex("00000002") * 65535)


def test_list_can_repeat_an_interface_type() -> None:
    row = Row((Box(Circle(1)), Box(Circle(2)), Circle(3)), Red())
    assert CODEC.unmarshal(SHAPE, CODEC.marshal(row, SHAPE)) == row


@pytest.mark.parametrize("shape", [Unregistered(), Red()])
def test_a_type_that_the_interface_does_not_know_is_not_written(shape: Any) -> None:
    message = rf"^can't marshal unregistered type {type(shape).__name__}$"
    with raises(errors.CodecReason.UNREGISTERED_TYPE, kind=errors.CodecError, match=message):
        CODEC.pack(shape, SHAPE)


def test_types_have_their_numbers() -> None:
    assert {CODEC.type_id(cls): cls for cls in TYPES.values()} == TYPES
    with raises(errors.CodecReason.UNREGISTERED_TYPE, kind=errors.CodecError):
        CODEC.type_id(Empty)


@pytest.mark.parametrize("data", [b"", b"\0"])
def test_a_version_that_is_not_there_is_missing(data: bytes) -> None:
    with raises(
        errors.CodecReason.MISSING_VERSION,
        kind=errors.CodecError,
        match=r"^couldn't unpack codec version$",
    ):
        CODEC.unmarshal(Circle, data)


@pytest.mark.parametrize("version", ["0001", "0100", "ffff"])
def test_another_version_is_unknown(version: str) -> None:
    with raises(
        errors.CodecReason.UNKNOWN_VERSION, kind=errors.CodecError, match=r"^unknown codec version$"
    ):
        CODEC.unmarshal(Circle, bytes.fromhex(version) + bytes(2))


def test_a_value_larger_than_the_limit_is_neither_read_nor_written() -> None:
    codec = Codec(TYPES, max_size=10)
    fits, large = (b"\0\0" + n.to_bytes(4, "big") + bytes(n) for n in (4, 5))
    assert codec.unmarshal(Blob, fits) == bytes(4)
    assert codec.marshal(bytes(4), Blob) == fits
    message = r"^byte array exceeds maximum length: 11 > 10$"
    with raises(errors.CodecReason.INPUT_TOO_LARGE, kind=errors.CodecError, match=message):
        codec.unmarshal(Blob, large)
    with raises(errors.CodecReason.INPUT_TOO_LARGE, kind=errors.CodecError, match=message):
        codec.marshal(bytes(5), Blob)


def test_the_limit_is_256_kib() -> None:
    message = r"^byte array exceeds maximum length: 262145 > 262144$"
    with raises(errors.CodecReason.INPUT_TOO_LARGE, kind=errors.CodecError, match=message):
        CODEC.unmarshal(Blob, bytes(262145))


@pytest.mark.parametrize("value", [2, 127, 128, 255])
def test_a_truth_value_is_0_or_1(value: int) -> None:
    with raises(
        errors.CodecReason.INVALID_BOOL,
        kind=errors.CodecError,
        match=r"^unexpected value when unpacking bool$",
    ):
        CODEC.read(bool, bytes([value]), 0)


def test_a_list_of_nothings_is_refused_unless_it_is_empty() -> None:
    assert CODEC.unmarshal(Nothings, bytes(6)) == Nothings(())
    message = r"^couldn't unmarshal slice of zero length values$"
    with raises(errors.CodecReason.ZERO_LENGTH_ELEMENT, kind=errors.CodecError, match=message):
        CODEC.unmarshal(Nothings, bytes.fromhex("0000 7fffffff"))
    with raises(errors.CodecReason.ZERO_LENGTH_ELEMENT, kind=errors.CodecError, match=message):
        CODEC.pack(Nothings((Empty(),)))


@pytest.mark.parametrize("annotation", [tuple[U64, ...], tuple[Circle, ...], tuple[SHAPE, ...]])
def test_the_number_of_elements_is_not_trusted(annotation: Any) -> None:
    with pytest.raises(errors.CodecError) as caught:
        CODEC.read(annotation, bytes.fromhex("7fffffff 00000001 0000"), 0)
    assert caught.value.reason in TOO_SHORT


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (U8, 256),
        (U64, 2**64),
        (U32, -1),
        (Text, "a" * 65536),
        (Text, "\ud800"),
        (Annotated[bytes, FixedLayout(65)], bytes(64)),
        (Annotated[bytes, FixedLayout(65)], bytes(66)),
    ],
)
def test_a_value_that_does_not_fit_is_not_written(annotation: Any, value: Any) -> None:
    with raises(
        errors.CodecReason.UNENCODABLE_VALUE,
        kind=errors.CodecError,
        match=r"^can't marshal value: ",
    ):
        CODEC.pack(value, annotation)


@pytest.mark.parametrize("size", [64, 66])
def test_fixed_bytes_of_a_struct_are_neither_filled_up_nor_cut_off(size: int) -> None:
    value = Mixed(1, bytes(size), flag=False, name="", data=b"", addresses=())
    message = rf"^can't marshal value: expected 4 bytes but got {size}$"
    with raises(errors.CodecReason.UNENCODABLE_VALUE, kind=errors.CodecError, match=message):
        CODEC.pack(value)


@pytest.mark.parametrize(
    ("annotation", "data", "within"),
    [
        (U8, "", "couldn't unmarshal uint8: "),
        (U16, "00", "couldn't unmarshal uint16: "),
        (U32, "000000", "couldn't unmarshal uint32: "),
        (tuple[U64, ...], "00000001 00", "couldn't unmarshal uint64: "),
        (bool, "", "couldn't unmarshal bool: "),
        (Text, "00", "couldn't unmarshal string: "),
        (Text, "0002 61", "couldn't unmarshal string: "),
        (Blob, "000000", "couldn't unmarshal slice: "),
        (Blob, "00000002 61", ""),
        (tuple[SHAPE, ...], "0000", "couldn't unmarshal slice: "),
        (Annotated[bytes, FixedLayout(4)], "000000", ""),
    ],
)
def test_error_names_the_truncated_field(annotation: Any, data: str, within: str) -> None:
    with pytest.raises(errors.CodecError) as caught:
        CODEC.read(annotation, bytes.fromhex(data), 0)

    assert str(caught.value) == f"{within}packer has insufficient length for input"
