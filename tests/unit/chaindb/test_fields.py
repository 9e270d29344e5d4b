"""Fields for chain values: conversion from and to text, limits, and the same order in both databases."""

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from chaindb.fields import (
    AddressField,
    BytesField,
    HexBytes,
    UInt64Field,
    UInt256Field,
    for_database,
)


def test_bytes_read_as_hex() -> None:
    assert str(HexBytes(b"\x01\xff")) == "0x01ff"
    assert HexBytes(b"\x01\xff") == b"\x01\xff"


def test_text_becomes_bytes_with_and_without_prefix() -> None:
    assert BytesField().to_python("0x01ff") == BytesField().to_python("01FF") == b"\x01\xff"


def test_text_that_is_not_hex_is_refused() -> None:
    with pytest.raises(ValidationError, match="0xzz is not hexadecimal"):
        BytesField().to_python("0xzz")


def test_an_address_has_twenty_bytes() -> None:
    with pytest.raises(ValidationError, match="expected 20 bytes, got 2"):
        AddressField().to_python("0x01ff")


@pytest.mark.parametrize(
    ("field", "largest"), [(UInt64Field(), 2**64 - 1), (UInt256Field(), 2**256 - 1)]
)
def test_integers_have_bounds(field: UInt64Field, largest: int) -> None:
    assert field.to_python(str(largest)) == largest
    for wrong in (-1, largest + 1):
        with pytest.raises(ValidationError, match="is not between 0 and"):
            field.to_python(wrong)
    with pytest.raises(ValidationError, match="x is not an integer"):
        field.to_python("x")


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1))
def test_the_text_of_sqlite_sorts_like_the_numbers(number: int, other: int) -> None:
    assert (for_database(number, 78, "sqlite") < for_database(other, 78, "sqlite")) == (
        number < other
    )


@given(st.integers(0, 2**256 - 1))
def test_number_round_trips(number: int) -> None:
    stored = for_database(number, 78, "sqlite")

    assert UInt256Field().from_db_value(stored, None, None) == number
