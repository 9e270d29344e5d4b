"""0x texts: accepted ones, and messages for invalid ones."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from primitives.evm import Address
from primitives.hexadecimal import (
    HexError,
    HexReason,
    checksum_address,
    decode_address,
    decode_data,
    decode_hash,
    decode_quantity,
    encode_data,
    encode_quantity,
)


def reason(decode, *arguments):
    with pytest.raises(HexError) as caught:
        decode(*arguments)
    return caught.value.reason, str(caught.value)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", HexReason.EMPTY_TEXT, "empty hex string"),
        ("1", HexReason.MISSING_PREFIX, "hex string without 0x prefix"),
        ("latest", HexReason.MISSING_PREFIX, "hex string without 0x prefix"),
        ("0x", HexReason.EMPTY_NUMBER, 'hex string "0x"'),
        ("0x01", HexReason.LEADING_ZERO, "hex number with leading zero digits"),
        ("0x00", HexReason.LEADING_ZERO, "hex number with leading zero digits"),
        ("0xg", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x1_0", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x+1", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x 1", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x1 ", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x٣", HexReason.INVALID_DIGIT, "invalid hex string"),
        ("0x1" + 64 * "0", HexReason.NUMBER_TOO_LARGE, "hex number > 256 bits"),
    ],
)
def test_malformed_quantity_is_refused_with_its_message(text, error, message):
    assert reason(decode_quantity, text) == (error, message)


def test_quantity_with_too_many_bits_is_refused():
    assert decode_quantity("0x7fffffffffffffff", 63) == 2**63 - 1
    assert reason(decode_quantity, "0x8000000000000000", 63) == (
        HexReason.NUMBER_TOO_LARGE,
        "hex number > 63 bits",
    )


def test_a_very_long_quantity_is_refused_by_its_length():
    assert reason(decode_quantity, "0x1" + 10**6 * "g", 64)[0] is HexReason.NUMBER_TOO_LARGE


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_quantity_round_trips(number):
    text = encode_quantity(number)
    assert decode_quantity(text) == number
    assert decode_quantity("0X" + text[2:].upper()) == number


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", HexReason.EMPTY_TEXT),
        ("12", HexReason.MISSING_PREFIX),
        ("x012", HexReason.MISSING_PREFIX),
        ("0x1", HexReason.ODD_LENGTH),
        ("0x1g", HexReason.INVALID_DIGIT),
        ("0x12 3", HexReason.INVALID_DIGIT),
        ("0x1 23", HexReason.INVALID_DIGIT),
        ("0xé1", HexReason.INVALID_DIGIT),
    ],
)
def test_data_is_refused_for_its_fault(text, error):
    assert reason(decode_data, text)[0] is error


@given(st.binary(max_size=100))
def test_data_round_trips(data):
    assert decode_data(encode_data(data)) == data


def test_no_data_is_only_the_prefix():
    assert encode_data(b"") == "0x"
    assert decode_data("0x") == b""


def read_or_refuse(decode, text):
    try:
        return decode(text)
    except HexError as error:
        return error


@given(st.text(max_size=12))
@example("0x1\n")
def test_any_text_is_a_value_or_refused_by_a_class_of_this_module(text):
    number = read_or_refuse(decode_quantity, text)
    assert isinstance(number, HexError) or hex(number) == text.lower()
    data = read_or_refuse(decode_data, text)
    assert isinstance(data, HexError) or "0x" + data.hex() == text.lower()


def test_an_address_of_another_length_is_named_in_the_message():
    assert reason(decode_address, "0x1234") == (
        HexReason.WRONG_LENGTH,
        "hex string has length 4, want 40 for common.Address",
    )
    assert reason(decode_hash, "0x")[1] == "hex string has length 0, want 64 for common.Hash"
    assert reason(decode_hash, "0x123")[0] is HexReason.ODD_LENGTH


def test_an_address_is_read_in_any_letter_case():
    text = "8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
    assert decode_address("0x" + text) == decode_address("0x" + text.lower()) != bytes(20)


@pytest.mark.parametrize(
    "text",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_the_checksum_is_that_of_eip_55(text):
    assert checksum_address(Address(bytes.fromhex(text[2:]))) == text
