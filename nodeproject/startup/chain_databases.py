"""The databases of chains of subnets: a SQLite file in the data directory or a PostgreSQL schema for each.

A database gets Django's alias when its chain begins or the node starts; all threads then open connections to it.
"""

import fcntl
import logging
import sqlite3
from copy import deepcopy
from pathlib import Path
from threading import Lock
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, NotSupportedError, ProgrammingError, connections

from chaindb import clock, versions
from chaindb.database import Database
from chaindb.definitions import copy_definitions
from chaindb.locks import Lock as RowLock
from chaindb.replicas import alias_on, replica_aliases
from nodeproject.settings.databases import sqlite
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.database import is_current, make_tables, verify_writers
from primitives.ids import ID
from primitives.product import VERSION

DIRECTORY: Final = "chains"
"""Directory of the SQLite files in the data directory."""

OF_ALL: Final = "evm_"
"""Prefix of the views of all EVM chains in the node's own database (`chain_views`)."""

_MIGRATIONS: Final = """
    INSERT INTO "{schema}".django_migrations (app, name, applied)
    SELECT app, name, applied FROM django_migrations ORDER BY id
"""

_log: Final = logging.getLogger(__name__)

_LOG_PAGES: Final = 1_000
_CONNECTIONS: Final = 8
"""Most PostgreSQL connections of a process to one of these databases."""

_ADDING: Final = Lock()
"""Held while an alias is added to Django's databases, which a process has once."""


def alias_of(blockchain_id: ID) -> str:
    """Return the alias of a chain's database, which is also the name of its PostgreSQL schema."""
    return f"evm_{bytes(blockchain_id).hex()[:24]}"


def file_of(blockchain_id: ID, settings: NodeSettings) -> Path:
    """Return the SQLite file of a chain's rows."""
    return settings.common.directory / DIRECTORY / f"{blockchain_id}.sqlite3"


def upgrade_file_of(blockchain_id: ID, settings: NodeSettings) -> Path:
    """Return the path of the operator's upgrade file of a chain."""
    return settings.common.directory / DIRECTORY / f"{blockchain_id}.upgrade.json"


def open_database(blockchain_id: ID, settings: NodeSettings) -> Database:
    """Make the database of a chain known to this process; it need not have tables yet. A second call does nothing."""
    alias = alias_of(blockchain_id)
    if alias not in connections.settings:
        own = connections[DEFAULT_DB_ALIAS]
        if own.vendor == "sqlite":
            entry = deepcopy({**connections.settings[DEFAULT_DB_ALIAS], "ATOMIC_REQUESTS": False})
            path = file_of(blockchain_id, settings)
            entries = {alias: entry | sqlite(path, settings, log_pages=_LOG_PAGES, is_mapped=False)}
        else:
            servers = (DEFAULT_DB_ALIAS, *replica_aliases())
            entries = {alias_on(alias, server): _of_schema(server, alias) for server in servers}
        with _ADDING:  # other threads iterate over the mapping, so it is replaced
            connections.settings = {**connections.settings, **entries}
    return Database(alias)


def make_database(blockchain_id: ID, settings: NodeSettings) -> Database:
    """Open the database of a chain, with all its tables.

    Raises:
        CannotStart: A later version of this program has written to it.
        DatabaseError: It cannot be made.
        OSError: Likewise.
    """
    db = open_database(blockchain_id, settings)
    if db.connection.vendor == "sqlite":
        path = file_of(blockchain_id, settings)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with (path.parent / "lock").open("w") as lock:  # processes begin the chain together
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _copy_tables(Path(str(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])), path)
        make_tables(db.alias)
    else:
        own = Database()
        if not _has_schema(own, db.alias):
            _make_schema(own, db.alias)
        if not is_current(db.alias):  # such as after an upgrade
            with own.atomic(durable=True):  # processes begin the chain together
                own.acquire(RowLock.INIT)
                own.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                make_tables(db.alias)
        verify_writers(versions.recorded(db))
    versions.record(db, VERSION, clock.wall())
    return db


def _has_schema(own: Database, schema: str) -> bool:
    return own.row("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)) is not None


def _make_schema(own: Database, schema: str) -> None:
    """Create the schema of a chain with the tables of the node's own database.

    Running the migrations again would take half a minute on a busy machine, while other processes wait. That is done only
    if the tables cannot be copied.
    """
    try:
        with own.atomic(durable=True):  # processes begin the chain together
            own.acquire(RowLock.INIT)
            if not _has_schema(own, schema):
                copy_definitions(own, schema, except_views=OF_ALL)
                own.execute(_MIGRATIONS.format(schema=schema))
    except (ProgrammingError, NotSupportedError) as error:
        _log.warning("the tables of chain %s are made by migrations: %s", schema, error)
        with own.atomic(durable=True):
            own.acquire(RowLock.INIT)
            own.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')


def remove_database(blockchain_id: ID, settings: NodeSettings) -> None:
    """Remove the database of a chain with all rows, if there is one. No other process has it open.

    Raises:
        DatabaseError: It cannot be removed.
        OSError: Likewise.
    """
    db = open_database(blockchain_id, settings)
    db.connection.close()
    if db.connection.vendor == "sqlite":
        path = file_of(blockchain_id, settings)
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    else:
        Database().execute(f'DROP SCHEMA IF EXISTS "{db.alias}" CASCADE')


def _of_schema(server: str, schema: str) -> dict[str, Any]:
    """Return the entry of a schema on a server, by the server's alias."""
    entry = deepcopy({**connections.settings[server], "ATOMIC_REQUESTS": False})
    options = entry["OPTIONS"]
    given = options.get("options", "")
    options["options"] = f"{given} -c search_path={schema}".strip()
    if isinstance(options.get("pool"), dict):
        options["pool"] |= {"min_size": 0, "max_size": _CONNECTIONS}
    return entry


def _copy_tables(source: Path, target: Path) -> None:
    """Create a SQLite database with the tables, indexes and views of another one, and the record of its migrations."""
    made = target.with_name(f"{target.name}.partial")
    for left in target.parent.glob(f"{made.name}*"):  # of a killed process
        left.unlink()
    connection = sqlite3.connect(made, isolation_level=None)
    try:
        connection.execute("ATTACH DATABASE ? AS node", (f"{source}",))
        connection.execute("BEGIN")
        found = connection.execute(
            "SELECT sql FROM node.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
            "ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, rowid"
        ).fetchall()
        for (statement,) in found:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO main.django_migrations SELECT * FROM node.django_migrations"
        )
        connection.execute("COMMIT")
    finally:
        connection.close()
    made.chmod(0o600)
    made.replace(target)
