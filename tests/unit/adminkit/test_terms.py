"""The terms that the admin's search boxes accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.terms import SearchTerm, parse_term

ADDRESS = "8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"


@pytest.mark.parametrize("prefix", ["", "0x", "0X", "  0x"])
@pytest.mark.parametrize("change", [str.lower, str.upper, str.title])
def test_an_address_is_read_in_any_case_with_and_without_prefix(
    prefix: str, change: object
) -> None:
    assert parse_term(prefix + change(ADDRESS)) == SearchTerm(address=bytes.fromhex(ADDRESS))  # type: ignore[operator, arg-type]


@given(st.binary(min_size=32, max_size=32))
def test_a_hash_is_read(value: bytes) -> None:
    assert parse_term(value.hex()) == parse_term("0x" + value.hex()) == SearchTerm(hash=value)  # type: ignore[arg-type]


def test_twenty_bytes_of_decimal_digits_are_an_address() -> None:
    assert parse_term("12" * 20).address == b"\x12" * 20


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_a_number_is_read_in_decimal_and_in_hex(number: int) -> None:
    for text in (str(number), f"#{number}", hex(number), f" {number} "):
        assert parse_term(text) == SearchTerm(number=number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0x",
        "#",
        "-1",
        "1.5",
        "1e3",
        "1_000",
        "abc",
        "0xgg",
        "²",
        "٣",
        "\x00",
        str(2**63),
        "9" * 39,
        "1" * 63,
    ],
)
def test_unrecognized_text_is_no_term(text: str) -> None:
    assert parse_term(text) == SearchTerm()


@given(st.text())
def test_any_text_can_be_typed(text: str) -> None:
    assert isinstance(parse_term(text), SearchTerm)
