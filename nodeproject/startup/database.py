"""The database at the start: its tables are made, and its faults are explained.

Each explanation is one line that says what to do; no line contains a password.
"""

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.utils import load_backend
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from chaindb import versions
from chaindb.database import Database
from nodeproject.settings.databases import sqlite
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.process import CannotStart, StartReason
from primitives.product import VERSION

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
    """Verify that no later version of this program has written to the database.

    Unspecified: versions that differ in the last number alone store the same, so that the earlier of them runs on the
    database of the later.

    Raises:
        CannotStart: A later version has run on the database, or changed its tables.
    """
    recorded = (
        versions.recorded(Database())
        if versions.FIRST_MIGRATION in loader.applied_migrations
        else []
    )
    latest = recorded[-1] if recorded else VERSION
    known = loader.disk_migrations.keys()
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in known
    )
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


def make_tables(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Run a database's missing migrations with a progress bar: a new one has some dozens.

    Raises:
        CannotStart: The database does not answer, is not in UTF-8, or has migrations that this version does not know.
        DatabaseError: A migration failed.
    """
    if alias == DEFAULT_DB_ALIAS:
        verify_reachable()
    executor = MigrationExecutor(connections[alias])
    verify_version(executor.loader)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Making tables", total=len(missing))
        command = _Migrate(lambda: progress.advance(task))
        call_command(command, database=alias, interactive=False, verbosity=0)


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


class _Migrate(migrate.Command):
    """Django's command, which reports each completed migration."""

    def __init__(self, done: Callable[[], None]) -> None:
        super().__init__()
        self._done = done

    @override
    def migration_progress_callback(
        self, action: str, migration: Any | None = None, fake: bool = False
    ) -> None:
        if action == "apply_success":
            self._done()
