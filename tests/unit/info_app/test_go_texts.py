"""Durations and times are parsed in Go's formats."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from info_app.go_texts import (
    SECOND,
    ZERO_TIME,
    duration_text,
    moment_text,
    seconds_text,
    time_text,
)

UNITS = {
    "ns": 1, "µs": 1000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (300_000_000, "300ms"),
        (999_999_999, "999.999999ms"),
        (SECOND, "1s"),
        (3_300_000_000, "3.3s"),
        (60 * SECOND, "1m0s"),
        (62_500_000_000, "1m2.5s"),
        (3600 * SECOND, "1h0m0s"),
        (25 * 3600 * SECOND + 5 * SECOND + 1, "25h0m5.000000001s"),
    ],
)
def test_a_duration(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text


@given(st.integers(0, 10**18))
def test_durations_are_exact(nanoseconds: int) -> None:
    parts = re.findall(r"(\d+)(?:\.(\d+))?(h|ms|m|s|µs|ns)", duration_text(nanoseconds))
    total = sum(
        int(whole) * UNITS[unit] + int(digits or 0) * UNITS[unit] // 10 ** len(digits)
        for whole, digits, unit in parts
    )

    assert total == nanoseconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(-0.5, "0s"), (0.0, "0s"), (0.3, "300ms"), (61.0000004, "1m1s")]
)
def test_seconds_are_formatted_to_the_microsecond(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (1_721_016_000 * SECOND, "2024-07-15T04:00:00Z"),
        (1_721_016_000 * SECOND + 5, "2024-07-15T04:00:00.000000005Z"),
        (1_721_016_000 * SECOND + 120_000_000, "2024-07-15T04:00:00.12Z"),
    ],
)
def test_a_time(nanoseconds: int, text: str) -> None:
    assert time_text(nanoseconds) == text
    datetime.fromisoformat(text)
    datetime.fromisoformat(ZERO_TIME)


@given(st.integers(0, 4_000_000_000_000_000))
def test_a_moment_is_read_back(microseconds: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    assert datetime.fromisoformat(moment_text(moment)) == moment


def test_time_of_another_zone_is_formatted_in_utc() -> None:
    moment = datetime(2024, 7, 15, 6, tzinfo=timezone(timedelta(hours=2)))
    assert moment_text(moment) == "2024-07-15T04:00:00Z"
