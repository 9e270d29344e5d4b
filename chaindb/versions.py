"""The versions of the program that have run on a database, and which of them may run on it now.

A version is MAJOR.MINOR.PATCH (semantic versioning). Rows and files keep their form within a minor version.
"""

from datetime import UTC, datetime
from typing import Final

from chaindb.database import Database
from chaindb.models import ProgramVersion

FIRST_MIGRATION: Final = ("chaindb", "0008_program_versions")
"""The migration that creates their table; databases of version 0.1.0 have none."""


def record(db: Database, version: str, now: int) -> None:
    """Record that a version runs on a database, once for each version. Writes nothing if it is recorded already.

    Args:
        db: The database.
        version: The version of this program.
        now: Unix seconds.
    """
    db.objects(ProgramVersion).get_or_create(
        version=version, defaults={"first_run_at": datetime.fromtimestamp(now, UTC)}
    )


def recorded(db: Database) -> list[str]:
    """Return the versions that have run on a database, the lowest first."""
    return sorted(db.objects(ProgramVersion).values_list("version", flat=True), key=numbers)


def is_later(version: str, than: str) -> bool:
    """Return whether a version may have stored what another one cannot read: its major or minor number is higher."""
    return numbers(version)[:2] > numbers(than)[:2]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version. Raises ValueError if the text is no version."""
    return tuple(map(int, version.split(".")))
