"""The admin's formats of amounts, times and long identifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.formats import (
    cut_decimals,
    format_age,
    format_date,
    format_duration,
    format_iso,
    format_percent,
    format_time,
    format_units,
    format_whole,
    percent,
    shorten,
)


@given(st.integers(min_value=0, max_value=2**64 - 1), st.sampled_from([1, 10**6, 10**9]))
def test_an_amount_in_units_is_exact(amount: int, unit: int) -> None:
    whole, _, decimals = format_units(amount, unit).replace(",", "").partition(".")
    size = len(str(unit)) - 1
    assert int(whole) * unit + int(decimals.ljust(size, "0") or 0) == amount


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0"), (1, "0.000001"), (1_500_250_000, "1,500.25"), (10**6, "1")]
)
def test_an_amount_has_no_decimals_that_say_nothing(amount: int, text: str) -> None:
    assert format_units(amount, 10**6) == text


@pytest.mark.parametrize(
    ("number", "text"), [("1", "1"), ("1.0000001", "1"), ("1,000.123456789", "1,000.123456")]
)
def test_a_list_cuts_after_six_decimals(number: str, text: str) -> None:
    assert cut_decimals(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [("0.0000001", "<0.000001"), ("0.000001", "0.000001"), ("0", "0")]
)
def test_small_amount_is_not_rounded_to_zero(number: str, text: str) -> None:
    assert cut_decimals(number) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0"), (1, "<0.000001"), (5 * 10**8, "0.5"), (12_345 * 10**8, "1,234")]
)
def test_whole_units_of_less_than_one_are_not_nothing(amount: int, text: str) -> None:
    assert format_whole(amount, 10**9) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 5, "0 %"), (5, 0, "0 %"), (1, 10_000, "<0.1 %"), (1, 8, "12.5 %"), (5, 5, "100 %")],
)
def test_a_share_is_written_with_one_decimal(part: int, whole: int, text: str) -> None:
    assert format_percent(part, whole) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_790_000_000, "2026-09-21 14:13:20 UTC"),
        (253_402_300_799, "9999-12-31 23:59:59 UTC"),
        (253_402_300_800, "253402300800 s"),
        (2**63 - 1, "9223372036854775807 s"),
    ],
)
def test_any_timestamp_can_be_written(seconds: int, text: str) -> None:
    assert format_time(seconds) == text


def test_a_time_is_written_for_programs_and_as_a_day() -> None:
    assert format_iso(1_790_000_000) == "2026-09-21T14:13:20Z"
    assert format_date(1_790_000_000) == "2026-09-21"
    assert (format_iso(2**63), format_date(2**63)) == (str(2**63), f"{2**63} s")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (7_200, "2 h"), (200_000, "2 d")],
)
def test_an_age_is_written_in_its_largest_unit(seconds: int, text: str) -> None:
    assert format_age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (3_600, "1 h"),
        (5_400, "1 h 30 min"),
        (86_400 * 365, "365 d"),
        (90_061, "1 d 1 h 1 min 1 s"),
        (2**64 - 1, "213,503,982,334,601 d 7 h 15 s"),
    ],
)
def test_a_duration_is_exact(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent(1, 3), percent(3, 3), percent(0, 0)) == (33, 100, 0)


def test_long_text_is_shortened_in_the_middle() -> None:
    assert shorten("0x12345678901234") == "0x12345678901234"
    assert shorten("0x" + "ab" * 20) == "0xababab…abab"
    assert shorten("NodeID-" + "7X" * 16, keep=13) == "NodeID-7X7X7X…7X7X"
    assert shorten("a" * 18, keep=13) == "a" * 18
