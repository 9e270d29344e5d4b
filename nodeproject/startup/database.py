"""The database at the start: its tables are made, and its faults are explained.

Each explanation is one line that says what to do; no line contains a password.
"""

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import load_backend

from chaindb import versions
from chaindb.database import Database
from nodeproject.settings.databases import sqlite
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.empty_database import begin_with_tables, migration_files
from nodeproject.startup.process import CannotStart, StartReason
from primitives.product import VERSION

CONNECT_SECONDS = 5
"""Seconds that a database server may take to answer at the start."""

_FULL = (errno.ENOSPC, errno.EDQUOT)


def verify_reachable() -> None:
    """Verify that a database server answers and accepts this node, since a pool would retry for long.

    Raises:
        CannotStart: It does not, or it stores texts in another encoding than UTF-8.
    """
    if connection.vendor != "postgresql":
        return
    import psycopg  # not needed by a node on SQLite

    entry = connection.settings_dict
    parameters = connection.get_connection_params()
    seconds = max(CONNECT_SECONDS, parameters["connect_timeout"])
    try:
        with psycopg.connect(**parameters | {"connect_timeout": seconds}) as session:
            encoding = session.info.parameter_status("server_encoding")
    except psycopg.Error as error:
        raise CannotStart(
            StartReason.DATABASE_UNUSABLE, database=_named(entry), cause=_words(error)
        ) from error
    if encoding != "UTF8":
        raise CannotStart(StartReason.DATABASE_ENCODING, database=_named(entry), encoding=encoding)


def verify_writers(recorded: Sequence[str], unknown: Sequence[str] = ()) -> None:
    """Verify that no later version of this program has written to the database.

    Unspecified: versions that differ in the last number alone store the same, so that the earlier of them runs on the
    database of the later.

    Args:
        recorded: The versions that have run on the database, the lowest first.
        unknown: The migrations of the database that this version does not know.

    Raises:
        CannotStart: A later version has run on the database, or changed its tables.
    """
    latest = recorded[-1] if recorded else VERSION
    if not unknown and not versions.is_later(latest, VERSION):
        return
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    raise CannotStart(
        StartReason.DATABASE_OF_LATER_VERSION,
        written=f"version {latest}" if latest != VERSION else "a later version",
        here=VERSION,
        differing=f" (without migration {unknown[0]}{more})" if unknown else "",
    )


def explained(error: DatabaseError | OSError) -> str:
    """Return an explanation of a database or file error for the operator."""
    if isinstance(error, OSError):
        if error.errno in _FULL:
            where = f" of {error.filename}" if error.filename else ""
            return f"the disk{where} is full: free space and start again"
        return str(error)
    words, named = _words(error), _named(connection.settings_dict)
    for known, meaning in _MEANINGS.items():
        if known in words:
            return f"{named} {meaning.format(words=words)}"
    return f"{named} cannot be used: {words}"


_MEANINGS: Mapping[str, str] = {
    "file is not a database": "is damaged, or not a database ({words}): restore a backup, or "
    "move it away to start with a new one",
    "malformed": "is damaged ({words}): restore a backup, or move it away to start with a new one",
    "database or disk is full": "cannot grow: its disk is full. Free space and start again",
    "disk I/O error": "cannot be read or written ({words}): check whether its disk is full or damaged",
    "database is locked": "is in use by another process: stop that process, or give this node its "
    "own NODE_DATA_DIR",
    "readonly database": "is read-only: make it writable for this user",
    "unable to open database file": "cannot be opened: check that its directory exists and is writable "
    "for this user",
}
"""SQLite's messages, and the explanation that follows the database's name."""


def _named(entry: Mapping[str, Any]) -> str:
    if connection.vendor == "sqlite":
        return f"the database {Path(str(entry['NAME']))}"
    from chaindb.postgresql.session import address  # as in `verify_reachable`

    if not entry["NAME"]:
        return f"the database of the service {entry['OPTIONS'].get('service')}"
    return f"the database {entry['NAME']} at {address(entry)}"


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


def make_tables(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Make a database's tables: copy an empty database if a build has made one, and run the missing migrations.

    Raises:
        CannotStart: The database does not answer, is not in UTF-8, or has migrations that this version does not know.
        DatabaseError: A migration failed.
        OSError: The database's file cannot be written.
    """
    if alias == DEFAULT_DB_ALIAS:
        verify_reachable()
    opened = connections[alias]
    if opened.vendor == "sqlite":
        try:
            begin_with_tables(Path(opened.settings_dict["NAME"]))
        except OSError as error:
            if error.errno in _FULL:
                raise OperationalError("database or disk is full") from error  # in SQLite's words
            raise
    if is_current(alias):
        verify_writers(versions.recorded(Database(alias)))
        return
    # Django imports all migrations for this, which takes a twentieth of a start.
    from nodeproject.startup.migrating import run_missing_migrations

    run_missing_migrations(alias)


@contextmanager
def opened_file(path: Path, alias: str, settings: NodeSettings) -> Iterator[Database]:
    """Open a SQLite file as a further database of this process; it is created if it does not exist.

    Args:
        path: The file.
        alias: Django's alias of the database within the body.
        settings: The node's settings.
    """
    entry = {**deepcopy(connections[DEFAULT_DB_ALIAS].settings_dict), **sqlite(path, settings)}
    opened = load_backend(entry["ENGINE"]).DatabaseWrapper(entry, alias)
    connections[alias] = opened
    try:
        yield Database(alias)
    finally:
        opened.close()
        del connections[alias]


def is_current(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether exactly the migrations of this version are applied to a database, by their names."""
    labels = {config.label for config in apps.get_app_configs()}
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    files = {(label, path.stem) for label, path in migration_files()}
    return {key for key in applied if key[0] in labels} == files
