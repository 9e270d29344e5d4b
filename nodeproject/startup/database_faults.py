"""Explanations of database faults, each in one line that says what to do; no line contains a password."""

import errno
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from nodeproject.startup.process import CannotStart

CONNECT_SECONDS = 5
"""Seconds that a database server may take to answer at the start."""


class DatabaseUnusable(CannotStart):
    """The database is missing, damaged, full, locked, or belongs to another program."""


class DatabaseOfLaterVersion(DatabaseUnusable):
    """The database has migrations that this version of the program does not know."""

    def __init__(self, unknown: Iterable[str]) -> None:
        names = sorted(unknown)
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        super().__init__(
            f"the database was made by a later version of this program (migration {names[0]}{more}): "
            "run that version, or another NODE_DATA_DIR or NODE_DATABASE_URL"
        )


def verify_reachable() -> None:
    """Verify that a database server answers and accepts this node, since a pool would retry for long.

    Raises:
        DatabaseUnusable: It does not, or it stores texts in another encoding than UTF-8.
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
        raise DatabaseUnusable(
            f"{_named(entry)} cannot be used ({_words(error)}): check that the server runs, or correct "
            "NODE_DATABASE_URL"
        ) from error
    if encoding != "UTF8":
        raise DatabaseUnusable(
            f"{_named(entry)} has the encoding {encoding}, in which not every name can be stored: make one "
            "with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def verify_version(loader: MigrationLoader) -> None:
    """Verify that no later version of this program has changed the database's tables.

    Raises:
        DatabaseOfLaterVersion: A later version has changed them.
    """
    known = loader.disk_migrations.keys()
    unknown = [
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in known
    ]
    if unknown:
        raise DatabaseOfLaterVersion(unknown)


def explained(error: DatabaseError | OSError) -> str:
    """Return an explanation of a database or file error for the operator."""
    if isinstance(error, OSError):
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
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
