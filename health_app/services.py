"""Writing the history of health: each change once, whichever processes have seen it."""

from datetime import UTC, datetime, timedelta

from chaindb.database import Database
from chaindb.locks import Lock
from health_app import store
from health_app.result import CheckResult, same_reasons

MOST_CHANGES = 10_000
"""Changes that are kept; a check that flaps must not fill the disk."""


def record(db: Database, name: str, result: CheckResult) -> bool:
    """Write down how a check is, unless that is what was written last; return whether it was news.

    Nor is it news what was seen before what was written last: of an outage of the database each process
    tells when that is over, and one that comes late would have the check fail once more.

    Args:
        db: The node's own.
        name: The check's.
        result: How it is.
    """
    with db.atomic(durable=True):
        db.acquire(Lock.HEALTH)
        last = store.last(name)
        if last is not None and (
            same_reasons(last.error, result.error) or store.moment(result) < last.at
        ):
            return False
        store.add(name, result, keep=MOST_CHANGES)
        return True


def prune(db: Database, days: int, now: datetime) -> int:
    """Forget changes of checks that are more than so many days old, but each check's last; return how many.

    There are 10,000 at most, so one transaction will do.
    """
    with db.atomic(durable=True):
        db.acquire(Lock.HEALTH)
        return store.forget_before(now - timedelta(days=days))


def touch(db: Database) -> None:
    """Write something, to see whether the database takes it.

    Raises:
        DatabaseError: It does not.
    """
    with db.atomic(durable=True):
        store.touch(datetime.now(UTC))
