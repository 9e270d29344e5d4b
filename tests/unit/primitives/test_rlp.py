"""RLP compared to the rlp library, and non-canonical encodings."""

import pytest
import rlp as library
from hypothesis import given
from hypothesis import strategies as st

from primitives import rlp
from primitives.rlp import RlpError, RlpList

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


def test_split_tells_lists_from_strings():
    (item,) = rlp.split(rlp.read_only_item(encode([[b"a"]])), 1)
    assert type(item) is RlpList


def test_split_counts():
    payload = rlp.read_only_item(encode([b"a", b"b"]))
    with pytest.raises(rlp.TooFewElements):
        rlp.split(payload, 3)
    with pytest.raises(rlp.TooManyElements):
        rlp.split(payload, 1)


def test_split_says_which_element_is_malformed():
    with pytest.raises(rlp.NonCanonicalSize) as caught:
        rlp.split(b"\x01\x81\x05", 2)
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("", rlp.ValueExceedsInput),
        ("b7", rlp.ValueExceedsInput),
        ("c2 01", rlp.ValueExceedsInput),
        ("f8", rlp.ValueExceedsInput),
        ("bf ffffffffffffffff", rlp.ValueExceedsInput),
        ("81 7f", rlp.NonCanonicalSize),
        ("b8 37" + 55 * "00", rlp.NonCanonicalSize),
        ("f8 37" + 55 * "00", rlp.NonCanonicalSize),
        ("b9 0038" + 56 * "00", rlp.NonCanonicalSize),
        ("01 01", rlp.MoreThanOneValue),
        ("c0 c0", rlp.MoreThanOneValue),
    ],
)
def test_what_is_not_one_canonical_value_is_refused(data, error):
    with pytest.raises(error):
        rlp.read_only_item(bytes.fromhex(data))


def test_an_element_must_end_within_its_list():
    with pytest.raises(rlp.ElementTooLarge):
        rlp.split(b"\x01\x82\x05", 2)
    with pytest.raises(rlp.ElementTooLarge):
        list(rlp.iterate(b"\xb8"))


@pytest.mark.parametrize(
    ("read", "item", "error"),
    [
        (rlp.read_uint64, b"\x00", rlp.NonCanonicalInteger),
        (rlp.read_uint64, bytes(9), rlp.InputTooLong),
        (rlp.read_uint64, RlpList(), rlp.ExpectedString),
        (rlp.read_uint256, b"\x00\x01", rlp.NonCanonicalInteger),
        (rlp.read_uint256, b"\x01" * 33, rlp.ValueTooLarge),
        (rlp.read_uint256, RlpList(), rlp.ExpectedString),
        (rlp.read_uint8, b"\x01\x00", rlp.InputTooLong),
        (rlp.read_uint8, RlpList(b"ab"), rlp.ExpectedString),
        (rlp.read_bytes, RlpList(), rlp.ExpectedString),
    ],
)
def test_a_value_of_the_wrong_kind_or_size_is_refused(read, item, error):
    with pytest.raises(error):
        read(item)


def test_a_fixed_value_has_its_size():
    assert rlp.read_fixed(b"abc", 3) == b"abc"
    with pytest.raises(rlp.RlpTooShort):
        rlp.read_fixed(b"ab", 3)
    with pytest.raises(rlp.InputTooLong):
        rlp.read_fixed(b"abcd", 3)
    with pytest.raises(rlp.ExpectedString):
        rlp.read_fixed(RlpList(b"abc"), 3)


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_an_integer_comes_back_as_it_was(number):
    assert rlp.read_uint256(rlp.read_only_item(rlp.encode_uint(number))) == number
