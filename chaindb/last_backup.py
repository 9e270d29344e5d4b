"""The record of the last backup, by which metrics and alerts notice that backups have stopped."""

from datetime import datetime

from chaindb.database import Database
from chaindb.models import LastBackup


def record(db: Database, finished_at: datetime, size: int, seconds: float) -> None:
    """Replace the record in a transaction of its own.

    Args:
        db: The saved database.
        finished_at: When the file was complete on its disk.
        size: The size of the file in bytes.
        seconds: The time that the backup took.

    Raises:
        DatabaseError: The database takes no writes.
    """
    values = {"finished_at": finished_at, "size": size, "seconds": seconds}
    db.objects(LastBackup).update_or_create(id=1, defaults=values)


def find(db: Database) -> LastBackup | None:
    """Return the record, None if there was no backup yet. Runs one statement."""
    return db.objects(LastBackup).first()
