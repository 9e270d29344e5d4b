"""Explanations of database faults, each in one line that says what to do; no line contains a password."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from nodeproject.startup.process import CannotStart, StartReason

CONNECT_SECONDS = 5
"""Seconds that a database server may take to answer at the start."""


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


def verify_version(loader: MigrationLoader) -> None:
    """Verify that no later version of this program has changed the database's tables.

    Raises:
        CannotStart: A later version has changed them.
    """
    known = loader.disk_migrations.keys()
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in known
    )
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise CannotStart(StartReason.DATABASE_OF_LATER_VERSION, migration=f"{unknown[0]}{more}")


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
