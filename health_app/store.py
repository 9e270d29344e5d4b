"""The only writer of the health history, and of the row that is there to be written."""

from datetime import UTC, datetime, timedelta

from health_app.models import HealthChange, WriteProbe
from health_app.result import CheckResult

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def last_error(name: str) -> str | None:
    """Return what was wrong at a check's last change; empty: nothing, None: there was no change."""
    rows = HealthChange.objects.filter(name=name).order_by("-id")
    return rows.values_list("error", flat=True).first()


def add(name: str, result: CheckResult, *, keep: int) -> None:
    """Add a change and forget all but so many. The caller holds the lock and the transaction."""
    row = HealthChange.objects.create(
        name=name,
        healthy=result.healthy,
        error=result.error,
        message=result.message,
        at=_EPOCH + timedelta(microseconds=(result.ended or 0) // 1000),
    )
    HealthChange.objects.filter(id__lte=row.id - keep).delete()


def touch(now: datetime) -> None:
    """Write something small that is different each time."""
    WriteProbe.objects.bulk_create(
        [WriteProbe(id=1, at=now)],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["at"],
    )
