"""Addresses: round trips with any prefix, and messages for invalid ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import addresses
from primitives.addresses import format_address, parse_address
from primitives.ids import ShortID
from tests.builders.reasons import raises

EWOQ = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
short_ids = st.binary(min_size=20, max_size=20).map(ShortID)
# BIP-173 allows all visible letters of one case in a prefix.
prefixes = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_categories=("Lu",)),
    min_size=1,
    max_size=51,
)


@given(st.sampled_from(["P", "X", "11111111111111111111111111111111LpoYY"]), prefixes, short_ids)
def test_address_round_trips_with_any_prefix(chain: str, hrp: str, short_id: ShortID) -> None:
    assert parse_address(format_address(chain, hrp, short_id)) == (chain, hrp, short_id)


def test_upper_case_is_the_same_address() -> None:
    chain, _, encoded = EWOQ.partition("-")
    assert parse_address(f"{chain}-{encoded.upper()}") == parse_address(EWOQ)


def test_only_the_first_separator_separates() -> None:
    text = format_address("P", "a-b", ShortID(bytes(20)))
    assert parse_address(text).hrp == "a-b"


@given(st.integers(len("P-local1"), len(EWOQ) - 1), st.sampled_from(addresses.CHARSET))
def test_one_wrong_letter_is_noticed(place: int, letter: str) -> None:
    text = EWOQ[:place] + letter + EWOQ[place + 1 :]
    if text == EWOQ:
        assert parse_address(text).chain == "P"
        return
    with raises(
        addresses.AddressReason.INVALID_BECH32,
        kind=addresses.AddressError,
        match=r"^invalid checksum$",
    ):
        parse_address(text)


@given(st.text(max_size=100))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(addresses.AddressError):
        parse_address(text)


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ("", "invalid bech32 string length 0"),
        ("a1qqqqq", "invalid bech32 string length 7"),
        ("a1" + "q" * 89, "invalid bech32 string length 91"),
        ("a" * 10_000_000, "invalid bech32 string length 10000000"),
        ("Local1qqqqqq", "string not all lowercase or all uppercase"),
        ("loc l1qqqqqq", "invalid character in string: ' '"),
        ("löcal1qqqqqq", "invalid character in string: 'ö'"),
        ("localqqqqqqq", "invalid separator index -1"),
        ("1qqqqqqqqqqq", "invalid separator index 0"),
        ("localqqqq1qqqqq", "invalid separator index 9"),
        ("local1bqqqqq", "invalid character not part of charset: 'b'"),
        ("local1qqqqqq", "invalid checksum"),
    ],
)
def test_malformed_bech32_is_refused_with_its_reason(encoded: str, reason: str) -> None:
    with raises(
        addresses.AddressReason.INVALID_BECH32, kind=addresses.AddressError, match=rf"^{reason}$"
    ):
        parse_address(f"P-{encoded}")


def test_bech32m_is_another_checksum() -> None:
    with raises(
        addresses.AddressReason.INVALID_BECH32,
        kind=addresses.AddressError,
        match=r"^invalid checksum$",
    ):
        parse_address("P-a1lqfn3a")


def test_an_address_has_a_chain() -> None:
    message = r"^no separator found in address$"
    with raises(
        addresses.AddressReason.MISSING_SEPARATOR, kind=addresses.AddressError, match=message
    ):
        parse_address(EWOQ.removeprefix("P-"))


@pytest.mark.parametrize("size", [0, 19, 21, 32])
def test_an_address_has_20_bytes(size: int) -> None:
    text = "P-" + addresses.encode("local", bytes(size))
    message = rf"^invalid hash length: expected 20 bytes but got {size}$"
    with raises(
        addresses.AddressReason.WRONG_ADDRESS_LENGTH, kind=addresses.AddressError, match=message
    ):
        parse_address(text)


@pytest.mark.parametrize("groups", [[0, 1], [0], [0, 0, 31]])
def test_bits_beyond_the_last_byte_are_refused(groups: list[int]) -> None:
    with raises(
        addresses.AddressReason.INVALID_BECH32,
        kind=addresses.AddressError,
        match=r"^invalid incomplete group$",
    ):
        parse_address("P-" + addresses.encode_groups("local", groups))
