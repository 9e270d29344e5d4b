"""Writing the history of health: each change once, whichever processes have seen it."""

from datetime import UTC, datetime

from django.db import transaction

from chaindb.locks import Lock, acquire
from health_app import store
from health_app.result import CheckResult, same_reasons

MOST_CHANGES = 10_000
"""Changes that are kept; a check that flaps must not fill the disk."""


@transaction.atomic(durable=True)
def record(name: str, result: CheckResult) -> bool:
    """Write down how a check is, unless that is what was written last; return whether it was news."""
    acquire(Lock.HEALTH)
    last = store.last_error(name)
    if last is not None and same_reasons(last, result.error):
        return False
    store.add(name, result, keep=MOST_CHANGES)
    return True


@transaction.atomic(durable=True)
def touch() -> None:
    """Write something, to see whether the database takes it.

    Raises:
        DatabaseError: It does not.
    """
    store.touch(datetime.now(UTC))
