"""How the admin writes wei and transaction types."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.admin.display import format_type, format_wei, round_wei

COIN = 10**18


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (1, "1 wei"),
        (99_999, "99,999 wei"),
        (10**5, "0.0001 Gwei"),
        (10**9, "1 Gwei"),
        (1_500_000_000, "1.5 Gwei"),
        (10**14, "0.0001 coins"),
        (COIN, "1 coin"),
        (COIN + 1, "1.000000000000000001 coins"),
        (50_000_000 * COIN, "50,000,000 coins"),
    ],
)
def test_an_amount_is_written_in_the_unit_that_reads_best(wei: int, text: str) -> None:
    assert format_wei(wei) == text


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_an_amount_in_full_is_exact(wei: int) -> None:
    number, _, unit = format_wei(wei).partition(" ")
    size = {"": 1, "wei": 1, "Gwei": 10**9, "coin": COIN, "coins": COIN}[unit]
    whole, _, decimals = number.replace(",", "").partition(".")
    assert int(whole) * size + int(Decimal(f"0.{decimals or 0}") * size) == wei


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (COIN, "1 coin"),
        (COIN + 1, "1 coin"),
        (COIN + 10**12, "1.000001 coins"),
        (1_234_567_899_999_999_999, "1.234567 coins"),
        (1_500_000_000, "1.5 Gwei"),
    ],
)
def test_a_list_cuts_amounts_after_six_decimals(wei: int, text: str) -> None:
    assert round_wei(wei) == text


def test_transaction_types_have_names() -> None:
    assert [format_type(number) for number in (0, 2, 4, 9)] == [
        "legacy (0)",
        "dynamic fee (2)",
        "set code (4)",
        "unknown (9)",
    ]
