"""Writes the history of health: each change once, even if several processes have observed it."""

from datetime import UTC, datetime, timedelta

from chaindb.database import Database
from chaindb.locks import Lock
from health_app import store
from health_app.result import CheckResult, same_reasons

MAX_CHANGES = 10_000
"""Limit of changes that are kept; a check that flaps must not fill the disk."""


def record(db: Database, name: str, result: CheckResult) -> bool:
    """Record the state of a check if it differs from the last recorded one; return whether it was recorded.

    A result older than the last recorded one is not recorded either: after an outage of the database every process
    reports it, and a late report would make the check fail once more.

    Args:
        db: The node's own database.
        name: The check's name.
        result: The check's result.
    """
    with db.atomic(durable=True):
        db.acquire(Lock.HEALTH)
        last = store.last(name)
        if last is not None and (
            same_reasons(last.error, result.error) or store.moment(result) < last.at
        ):
            return False
        store.add(name, result, keep=MAX_CHANGES)
        return True


def prune(db: Database, days: int, now: datetime) -> int:
    """Delete changes older than `days`, except the last one of each check; return how many were deleted.

    There are at most 10,000 changes, so one transaction is enough.
    """
    with db.atomic(durable=True):
        db.acquire(Lock.HEALTH)
        return store.forget_before(now - timedelta(days=days))


def touch(db: Database) -> None:
    """Write a value to test whether the database accepts writes.

    Raises:
        DatabaseError: The database rejects writes.
    """
    with db.atomic(durable=True):
        store.touch(datetime.now(UTC))
