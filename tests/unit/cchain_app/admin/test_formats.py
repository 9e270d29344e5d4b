"""The admin's formats of wei and transaction types."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.admin.display import (
    format_gas_price,
    format_type,
    format_wei,
    round_fee,
    round_gas_price,
    round_wei,
)

COIN = 10**18


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (1, "0.000000000000000001 AVAX"),
        (1_500_000_000, "0.0000000015 AVAX"),
        (10**14, "0.0001 AVAX"),
        (COIN, "1 AVAX"),
        (COIN + 1, "1.000000000000000001 AVAX"),
        (50_000_000 * COIN, "50,000,000 AVAX"),
    ],
)
def test_an_amount_is_always_in_coins(wei: int, text: str) -> None:
    assert format_wei(wei) == text


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_an_amount_in_full_is_exact(wei: int) -> None:
    number, _, unit = format_wei(wei).partition(" ")
    assert unit == ("AVAX" if wei else "")
    whole, _, decimals = number.replace(",", "").partition(".")
    assert int(whole) * COIN + int(Decimal(f"0.{decimals or 0}") * COIN) == wei


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (COIN, "1 AVAX"),
        (COIN + 1, "1 AVAX"),
        (COIN + 10**12, "1.000001 AVAX"),
        (1_234_567_899_999_999_999, "1.234567 AVAX"),
        (1_500_000_000, "<0.000001 AVAX"),
    ],
)
def test_a_list_cuts_amounts_after_six_decimals(wei: int, text: str) -> None:
    assert round_wei(wei) == text


@pytest.mark.parametrize(
    ("wei", "listed", "full"),
    [
        (0, "0", "0"),
        (29_400_000_021_000, "0.0000294 AVAX", "0.000029400000021 AVAX"),
        (21_000 * 25_123_456_789, "0.000527592 AVAX", "0.000527592592569 AVAX"),
        (1_234_567_899_999_999_999, "1.23456 AVAX", "1.234567899999999999 AVAX"),
        (21_000, "0.000000000000021 AVAX", "0.000000000000021 AVAX"),
    ],
)
def test_a_fee_is_written_in_coins_with_six_digits_in_lists(
    wei: int, listed: str, full: str
) -> None:
    assert (round_fee(wei), format_wei(wei)) == (listed, full)


@pytest.mark.parametrize(
    ("wei", "listed", "full"),
    [
        (7, "0.000000007 Gwei", "0.000000007 Gwei"),
        (1_000_000_007, "1.000000007 Gwei", "1.000000007 Gwei"),
        (10**14, "100,000 Gwei", "100,000 Gwei"),
        (10**14 + 1, "100,000 Gwei", "100,000.000000001 Gwei"),
    ],
)
def test_a_price_of_gas_is_always_in_gwei(wei: int, listed: str, full: str) -> None:
    assert (round_gas_price(wei), format_gas_price(wei)) == (listed, full)


def test_transaction_types_have_names() -> None:
    assert [format_type(number) for number in (0, 2, 4, 9)] == [
        "legacy (0)",
        "dynamic fee (2)",
        "set code (4)",
        "unknown (9)",
    ]
