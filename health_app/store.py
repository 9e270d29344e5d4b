"""The only writer of the health history and of the row that tests whether the database accepts writes."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Max

from health_app.models import HealthChange, WriteProbe
from health_app.result import CheckResult

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CheckChange(NamedTuple):
    """A recorded change."""

    error: str
    """The reason of the failure; empty if the check passed."""
    at: datetime


def last(name: str) -> CheckChange | None:
    """Return the last change of a check, or None."""
    rows = HealthChange.objects.filter(name=name).order_by("-id")
    last = rows.values_list("error", "at").first()
    return None if last is None else CheckChange(*last)


def moment(result: CheckResult) -> datetime:
    """Return when a check ended, with the precision of the table."""
    return _EPOCH + timedelta(microseconds=(result.ended or 0) // 1000)


def add(name: str, result: CheckResult, *, keep: int) -> None:
    """Add a change and delete all but the latest `keep`. The caller holds the lock and the transaction."""
    row = HealthChange.objects.create(
        name=name,
        healthy=result.healthy,
        error=result.error,
        message=result.message,
        at=moment(result),
    )
    HealthChange.objects.filter(id__lte=row.id - keep).delete()


def forget_before(moment: datetime) -> int:
    """Delete older changes and return their number. The last change of each check stays, because it is its state."""
    last = HealthChange.objects.values("name").annotate(last=Max("id")).values("last")
    old = HealthChange.objects.filter(at__lt=moment).exclude(id__in=last)
    return old.delete()[0]


def touch(now: datetime) -> None:
    """Write a small value that differs each time."""
    WriteProbe.objects.bulk_create(
        [WriteProbe(id=1, at=now)],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["at"],
    )
