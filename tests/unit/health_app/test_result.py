"""Consecutive results of checks, in the format for clients."""

import pytest

from health_app.result import NOT_YET_RUN, CheckResult, Finding, Report, same_reasons

SECOND = 1_000_000_000
GOOD = Finding({"connectedPeers": 3})
BAD = Finding({"connectedPeers": 0}, "not connected")


def test_a_check_that_has_not_run_yet_fails() -> None:
    assert not NOT_YET_RUN.healthy
    assert NOT_YET_RUN.to_json() == {
        "error": "not yet run",
        "timestamp": "0001-01-01T00:00:00Z",
        "duration": 0,
    }


def test_a_healthy_result() -> None:
    result = NOT_YET_RUN.followed_by(GOOD, began=10 * SECOND, ended=10 * SECOND + 1_500)

    assert result.healthy
    assert result.to_json() == {
        "message": {"connectedPeers": 3},
        "timestamp": "1970-01-01T00:00:10.0000015Z",
        "duration": 1_500,
    }


def test_failures_are_counted_from_the_first() -> None:
    result = NOT_YET_RUN.followed_by(GOOD, 0, 0)
    for ended in (20, 25, 30):
        result = result.followed_by(BAD, ended * SECOND, ended * SECOND)

    assert result.to_json() == {
        "message": {"connectedPeers": 0},
        "error": "not connected",
        "timestamp": "1970-01-01T00:00:30Z",
        "duration": 0,
        "contiguousFailures": 3,
        "timeOfFirstFailure": "1970-01-01T00:00:20Z",
    }


def test_a_first_run_may_fail() -> None:
    result = NOT_YET_RUN.followed_by(BAD, SECOND, SECOND)
    assert (result.contiguous_failures, result.first_failure) == (1, SECOND)


def test_success_resets_the_failure_count() -> None:
    result = NOT_YET_RUN.followed_by(BAD, 1, 1).followed_by(GOOD, 2, 2).followed_by(BAD, 3, 3)
    assert (result.contiguous_failures, result.first_failure) == (1, 3)


def test_result_without_measurement_has_no_message() -> None:
    result = NOT_YET_RUN.followed_by(Finding(error="the database does not answer"), 0, 0)
    assert "message" not in result.to_json()


def test_empty_message_is_kept() -> None:
    assert NOT_YET_RUN.followed_by(Finding([]), 0, 0).to_json()["message"] == []


def test_a_clock_that_was_set_back_makes_no_negative_duration() -> None:
    assert NOT_YET_RUN.followed_by(GOOD, began=5, ended=3).duration == 0


def test_a_report_is_healthy_when_all_checks_are() -> None:
    good, bad = (NOT_YET_RUN.followed_by(result, 0, 0) for result in (GOOD, BAD))

    assert Report({"a": good, "b": good}).healthy
    assert not Report({"a": good, "b": bad}).healthy
    assert Report({}).to_json() == {"checks": {}, "healthy": True}


def test_a_report_names_its_checks_in_order() -> None:
    shown = Report(dict.fromkeys(("router", "P", "C"), NOT_YET_RUN)).to_json()
    assert list(shown) == ["checks", "healthy"]
    assert list(shown["checks"]) == ["C", "P", "router"]


@pytest.mark.parametrize(
    ("error", "other"),
    [
        ("", ""),
        ("silent for 31s > 30s", "silent for 1h0m36.5s > 30s"),
        ("a 300ms, b 12%", "a 1.5µs, b 79.25%"),
        ("only 0 of 5", "only 3 of 5"),
    ],
)
def test_errors_that_differ_in_figures_have_the_same_reason(error: str, other: str) -> None:
    assert same_reasons(error, other)


@pytest.mark.parametrize(
    ("error", "other"),
    [("", "silent"), ("silent for 31s", "silent for 31s, alone"), ("4 blocks", "4 peers")],
)
def test_errors_with_different_messages_have_different_reasons(error: str, other: str) -> None:
    assert not same_reasons(error, other)


def test_first_result_is_a_change() -> None:
    first = CheckResult(error="not yet run", ended=5)
    assert not NOT_YET_RUN.is_same_report_as(first)
    assert first.is_same_report_as(CheckResult(error="not yet run", ended=6))
