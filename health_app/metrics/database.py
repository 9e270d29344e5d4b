"""How the database is, as it says itself: size, connections, migrations that are missing."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from chaindb import sql
from health_app.metrics.figures import Family, Figure

UP: Final = Family("database_up", "Whether the database answered.")
_SIZE: Final = Family("database_size_bytes", "Size of the database.", labels=("part",))
_CONNECTIONS: Final = Family(
    "database_server_connections", "Connections that the server has, of all.", labels=("state",)
)
_MISSING: Final = Family(
    "database_migrations_unapplied", "Migrations of this code that the database does not have."
)

_PART_OF_POSTGRESQL: Final = "SELECT pg_database_size(current_database())"
_STATES: Final = """
SELECT COALESCE(state, 'none'), COUNT(*) FROM pg_stat_activity
WHERE datname = current_database() GROUP BY 1
"""
_APPLIED: Final = "SELECT app, name FROM django_migrations"


def of_database() -> Iterator[Figure]:
    """Walk what the database says of itself."""
    applied = {(app, name) for app, name in sql.rows(_APPLIED)}
    yield _MISSING.of(len(_known() - applied))
    if connection.vendor == "postgresql":
        ((size,),) = sql.rows(_PART_OF_POSTGRESQL)
        yield _SIZE.of(size, "database")
        for state, number in sql.rows(_STATES):
            yield _CONNECTIONS.of(number, state)
        return
    place = str(connection.settings_dict["NAME"])
    for part, ending in (("database", ""), ("log", "-wal")):
        path = Path(place + ending)
        yield _SIZE.of(path.stat().st_size if path.exists() else 0, part)


@cache
def _known() -> frozenset[tuple[str, str]]:
    """Return the migrations of this code; those that squashed ones replace count as these do."""
    return frozenset(MigrationLoader(None).disk_migrations)
