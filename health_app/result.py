"""The finding of a run, the results of successive runs, and their JSON form. Pure.

The form of a result is the reference's (pchain.md 8.6), with the specification's messages inside.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from info_app.go_texts import ZERO_TIME, time_text

Json = dict[str, Any]

_FIGURES: Final = re.compile(r"\d[\d.]*(?:[hmsµn]+\d[\d.]*)*(?:[hmsµn]+\b|%)?")
"""Matches numbers and durations within a sentence."""


class Finding(NamedTuple):
    """The outcome of one run of a check: the measured values, and an error that is empty if the check passed."""

    message: object = None
    """A JSON value; None if nothing could be measured."""
    error: str = ""
    cause: BaseException | None = None
    """The unexpected exception that made the check itself fail, for the log."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check's last run. Times are in Unix nanoseconds."""

    message: object = None
    error: str = ""
    ended: int | None = None
    """None if the check has not run yet."""
    duration: int = 0
    """In nanoseconds."""
    contiguous_failures: int = 0
    first_failure: int | None = None
    """Start of the current series of failures; None if the check passes."""

    @property
    def healthy(self) -> bool:
        """Whether the check passed."""
        return not self.error

    def followed_by(self, finding: Finding, began: int, ended: int) -> Self:
        """Return the result after one more run."""
        failing = bool(finding.error)
        first = (ended if self.first_failure is None else self.first_failure) if failing else None
        return type(self)(
            message=finding.message,
            error=finding.error,
            ended=ended,
            duration=max(0, ended - began),
            contiguous_failures=self.contiguous_failures + 1 if failing else 0,
            first_failure=first,
        )

    def is_same_report_as(self, other: "CheckResult") -> bool:
        """Return whether both are healthy, or fail for the same reasons."""
        return self.ended is not None and same_reasons(self.error, other.error)

    def to_json(self) -> Json:
        """Return the result as JSON, without the fields that do not apply."""
        fields: Json = {} if self.message is None else {"message": self.message}
        if self.error:
            fields["error"] = self.error
        fields["timestamp"] = ZERO_TIME if self.ended is None else time_text(self.ended)
        fields["duration"] = self.duration
        if self.contiguous_failures:
            fields["contiguousFailures"] = self.contiguous_failures
        if self.first_failure is not None:
            fields["timeOfFirstFailure"] = time_text(self.first_failure)
        return fields


NOT_YET_RUN: Final = CheckResult(error="not yet run")
"""A check counts as failing before its first run."""


class Report(NamedTuple):
    """Results of several checks by name, and whether all of them are healthy."""

    checks: Mapping[str, CheckResult]

    @property
    def healthy(self) -> bool:
        """Whether no check fails."""
        return all(result.healthy for result in self.checks.values())

    def to_json(self) -> Json:
        """Return the report as JSON."""
        checks = {name: self.checks[name].to_json() for name in sorted(self.checks)}
        return {"checks": checks, "healthy": self.healthy}


def same_reasons(error: str, other: str) -> bool:
    """Return whether two errors are equal apart from their numbers, which may change while the reason is the same."""
    return _FIGURES.sub("#", error) == _FIGURES.sub("#", other)
