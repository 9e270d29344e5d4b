"""RLP compared to the rlp library, and non-canonical encodings."""

import pytest
import rlp as library
from hypothesis import given
from hypothesis import strategies as st

from primitives import rlp
from primitives.rlp import RlpError, RlpList
from tests.builders.reasons import raises

nested = st.recursive(st.binary(max_size=80), lambda inner: st.lists(inner, max_size=5))


def encode(value):
    if isinstance(value, bytes):
        return rlp.encode_bytes(value)
    return rlp.encode_list(map(encode, value))


def decode(item):
    return [decode(inner) for inner in rlp.iterate(item)] if type(item) is RlpList else item


@given(nested)
def test_nested_values_are_written_and_read_as_by_the_library(value):
    data = encode(value)
    assert data == library.encode(value)
    assert decode(rlp.read_only_item(data)) == value


@given(st.binary(max_size=60))
def test_bytes_are_accepted_exactly_where_the_strict_library_accepts_them(data):
    try:
        expected = library.decode(data)
    except library.exceptions.DecodingError:
        with pytest.raises(RlpError):
            decode(rlp.read_only_item(data))
    else:
        assert decode(rlp.read_only_item(data)) == expected


@given(st.lists(st.binary(max_size=70), max_size=8))
def test_split_reads_what_iterate_reads(values):
    payload = rlp.read_only_item(encode(values))
    assert rlp.split(payload, len(values)) == list(rlp.iterate(payload)) == values


def test_split_distinguishes_lists_from_strings():
    (item,) = rlp.split(rlp.read_only_item(encode([[b"a"]])), 1)
    assert type(item) is RlpList


def test_split_counts():
    payload = rlp.read_only_item(encode([b"a", b"b"]))
    with raises(rlp.RlpReason.TOO_FEW_ELEMENTS, kind=rlp.RlpError):
        rlp.split(payload, 3)
    with raises(rlp.RlpReason.TOO_MANY_ELEMENTS, kind=rlp.RlpError):
        rlp.split(payload, 1)


def test_split_reports_the_malformed_element():
    with raises(rlp.RlpReason.NON_CANONICAL_SIZE, kind=rlp.RlpError) as caught:
        rlp.split(b"\x01\x81\x05", 2)
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("", rlp.RlpReason.VALUE_EXCEEDS_INPUT),
        ("b7", rlp.RlpReason.VALUE_EXCEEDS_INPUT),
        ("c2 01", rlp.RlpReason.VALUE_EXCEEDS_INPUT),
        ("f8", rlp.RlpReason.VALUE_EXCEEDS_INPUT),
        ("bf ffffffffffffffff", rlp.RlpReason.VALUE_EXCEEDS_INPUT),
        ("81 7f", rlp.RlpReason.NON_CANONICAL_SIZE),
        ("b8 37" + 55 * "00", rlp.RlpReason.NON_CANONICAL_SIZE),
        ("f8 37" + 55 * "00", rlp.RlpReason.NON_CANONICAL_SIZE),
        ("b9 0038" + 56 * "00", rlp.RlpReason.NON_CANONICAL_SIZE),
        ("01 01", rlp.RlpReason.MORE_THAN_ONE_VALUE),
        ("c0 c0", rlp.RlpReason.MORE_THAN_ONE_VALUE),
    ],
)
def test_non_canonical_rlp_is_refused(data, error):
    with raises(error, kind=rlp.RlpError):
        rlp.read_only_item(bytes.fromhex(data))


def test_an_element_must_end_within_its_list():
    with raises(rlp.RlpReason.ELEMENT_TOO_LARGE, kind=rlp.RlpError):
        rlp.split(b"\x01\x82\x05", 2)
    with raises(rlp.RlpReason.ELEMENT_TOO_LARGE, kind=rlp.RlpError):
        list(rlp.iterate(b"\xb8"))


@pytest.mark.parametrize(
    ("read", "item", "error"),
    [
        (rlp.read_uint64, b"\x00", rlp.RlpReason.NON_CANONICAL_INTEGER),
        (rlp.read_uint64, bytes(9), rlp.RlpReason.INPUT_TOO_LONG),
        (rlp.read_uint64, RlpList(), rlp.RlpReason.EXPECTED_STRING),
        (rlp.read_uint256, b"\x00\x01", rlp.RlpReason.NON_CANONICAL_INTEGER),
        (rlp.read_uint256, b"\x01" * 33, rlp.RlpReason.VALUE_TOO_LARGE),
        (rlp.read_uint256, RlpList(), rlp.RlpReason.EXPECTED_STRING),
        (rlp.read_uint8, b"\x01\x00", rlp.RlpReason.INPUT_TOO_LONG),
        (rlp.read_uint8, RlpList(b"ab"), rlp.RlpReason.EXPECTED_STRING),
        (rlp.read_bytes, RlpList(), rlp.RlpReason.EXPECTED_STRING),
    ],
)
def test_a_value_of_the_wrong_kind_or_size_is_refused(read, item, error):
    with raises(error, kind=rlp.RlpError):
        read(item)


def test_a_fixed_value_has_its_size():
    assert rlp.read_fixed(b"abc", 3) == b"abc"
    with raises(rlp.RlpReason.INPUT_TOO_SHORT, kind=rlp.RlpError):
        rlp.read_fixed(b"ab", 3)
    with raises(rlp.RlpReason.INPUT_TOO_LONG, kind=rlp.RlpError):
        rlp.read_fixed(b"abcd", 3)
    with raises(rlp.RlpReason.EXPECTED_STRING, kind=rlp.RlpError):
        rlp.read_fixed(RlpList(b"abc"), 3)


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_integer_round_trips(number):
    assert rlp.read_uint256(rlp.read_only_item(rlp.encode_uint(number))) == number
