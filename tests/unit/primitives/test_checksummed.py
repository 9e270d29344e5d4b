"""Hex with checksum: round trips, and messages for invalid texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import checksummed
from primitives.checksummed import TextEncoding
from tests.builders.reasons import raises

HEX_ENCODINGS = [TextEncoding.HEX, TextEncoding.HEXC, TextEncoding.HEXNC]


@given(st.binary(max_size=100), st.sampled_from(HEX_ENCODINGS))
def test_bytes_round_trip(data: bytes, encoding: TextEncoding) -> None:
    text = checksummed.encode(data, encoding)
    assert checksummed.decode(text, encoding) == data
    assert checksummed.decode("0x" + text[2:].upper(), encoding) == data


@given(st.binary(min_size=1, max_size=40), st.data())
def test_one_wrong_digit_is_noticed(data: bytes, drawn: st.DataObject) -> None:
    text = checksummed.encode(data)
    place = drawn.draw(st.integers(2, len(text) - 1))
    digit = drawn.draw(st.sampled_from("0123456789abcdef").filter(lambda d: d != text[place]))
    with raises(
        checksummed.EncodingReason.WRONG_HEX_CHECKSUM,
        kind=checksummed.EncodingError,
        match=r"^invalid input checksum$",
    ):
        checksummed.decode(text[:place] + digit + text[place + 1 :])


@pytest.mark.parametrize("encoding", TextEncoding)
def test_empty_text_decodes_to_no_bytes(encoding: TextEncoding) -> None:
    assert checksummed.decode("", encoding) == b""


@pytest.mark.parametrize("text", ["00", "x00", "0X00", " 0x00"])
def test_the_prefix_must_be_there(text: str) -> None:
    message = r"^missing 0x prefix to hex encoding$"
    with raises(
        checksummed.EncodingReason.MISSING_HEX_PREFIX, kind=checksummed.EncodingError, match=message
    ):
        checksummed.decode(text, TextEncoding.HEXNC)


@pytest.mark.parametrize("text", ["0x", "0x00", "0x001122"])
def test_text_shorter_than_a_checksum_is_refused(text: str) -> None:
    message = r"^input string is smaller than the checksum size$"
    with raises(
        checksummed.EncodingReason.MISSING_HEX_CHECKSUM,
        kind=checksummed.EncodingError,
        match=message,
    ):
        checksummed.decode(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0x0", "odd length hex string"),
        ("0x0g", "invalid byte"),
        ("0x0 0 ", "invalid byte"),
        ("0xää", "invalid byte"),
        ("0x0_00", "invalid byte"),
    ],
)
def test_malformed_hex_is_refused(text: str, reason: str) -> None:
    with raises(
        checksummed.EncodingReason.INVALID_HEX,
        kind=checksummed.EncodingError,
        match=rf"^encoding/hex: {reason}$",
    ):
        checksummed.decode(text, TextEncoding.HEXNC)


def test_json_encoding_of_bytes_is_refused() -> None:
    message = r"^unsupported encoding in method$"
    with raises(
        checksummed.EncodingReason.UNSUPPORTED_ENCODING,
        kind=checksummed.EncodingError,
        match=message,
    ):
        checksummed.encode(b"", TextEncoding.JSON)
    with raises(
        checksummed.EncodingReason.UNSUPPORTED_ENCODING,
        kind=checksummed.EncodingError,
        match=message,
    ):
        checksummed.decode("0x00", TextEncoding.JSON)


@pytest.mark.parametrize("name", ["hex", "HEX", "hexC", "HexNC", "JSON"])
def test_names_of_encodings_are_read_in_any_case(name: str) -> None:
    assert TextEncoding.parse(name).value == name.lower()


@pytest.mark.parametrize("name", ["", "cb58", "hex "])
def test_other_names_are_refused(name: str) -> None:
    with raises(
        checksummed.EncodingReason.UNKNOWN_ENCODING,
        kind=checksummed.EncodingError,
        match=r"^invalid encoding$",
    ):
        TextEncoding.parse(name)
