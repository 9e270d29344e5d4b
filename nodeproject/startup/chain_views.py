"""SQL views over all EVM chains: `evm_blocks` has the rows of `c_blocks` of each chain, and so on, with the chain first.

On PostgreSQL they are in the schema of the node's own database, and exist once a subnet's chain has run. Views of SQLite cannot
refer to another file, so there `attached_views` returns statements for a session of one's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from cchain_app.store import subnet_chains as subnet_chain_rows
from chaindb.chains import C_CHAIN, title
from chaindb.database import Database
from chaindb.locks import Lock
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.chain_databases import OF_ALL, alias_of, file_of
from primitives.ids import ID

OF_C_CHAIN: Final = "c_"
"""Prefix of the views of one EVM chain, which each database has."""

_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, string_agg(quote_ident(c.column_name), ', ' ORDER BY c.ordinal_position)
    FROM information_schema.columns c JOIN information_schema.views v USING (table_schema, table_name)
    WHERE starts_with(c.table_name, %s) AND (c.table_schema = current_schema() OR c.table_schema = ANY(%s))
    GROUP BY c.table_schema, c.table_name
"""
_EXISTING: Final = """
    SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c
    WHERE c.relkind = 'v' AND c.relnamespace = current_schema()::regnamespace AND starts_with(c.relname, %s)
"""


class ChainInViews(NamedTuple):
    """An EVM chain in the views."""

    name: str
    """C, or the blockchain ID."""
    title: str
    schema: str
    """The PostgreSQL schema, or the name of the attached SQLite database."""


def refresh(db: Database) -> None:
    """Make the views for the chains that have rows now. On SQLite there are none.

    A chain whose database has views of another version of this program is left out until it begins.

    Raises:
        DatabaseError: The views cannot be made.
    """
    if db.connection.vendor != "postgresql":
        return
    with db.atomic():  # processes begin chains together
        db.acquire(Lock.INIT)
        wanted = _statements(db)
        digests = {name: sha256(select.encode()).hexdigest() for name, select in wanted.items()}
        existing = {str(name): comment for name, comment in db.rows(_EXISTING, (OF_ALL,))}
        if existing == digests:
            return
        _drop(db, existing)
        for name, select in wanted.items():
            db.execute(f'CREATE VIEW "{name}" AS {select}')
            db.execute(f"COMMENT ON VIEW \"{name}\" IS '{digests[name]}'")


def drop(db: Database) -> None:
    """Drop the views, because PostgreSQL does not change a view that another one is made of. On SQLite there are none."""
    if db.connection.vendor == "postgresql":
        _drop(db, [str(name) for name, _ in db.rows(_EXISTING, (OF_ALL,))])


def attached_views(db: Database, settings: NodeSettings, names: Sequence[str]) -> list[str]:
    """Return statements that attach the SQLite databases of chains and make temporary views over all of them.

    Args:
        db: The node's own database.
        settings: The settings of the node.
        names: Names or blockchain IDs of chains of subnets; empty for all.
    """
    rows = [
        row
        for row in subnet_chain_rows.rows(db)
        if row.database and (not names or {row.name, str(row.blockchain_id)} & {*names})
    ]
    chains = [
        ChainInViews(C_CHAIN, title(C_CHAIN), "main"),
        *(_chain(row.blockchain_id, row.name) for row in rows),
    ]
    attached = [
        f"ATTACH DATABASE {_quoted(str(file_of(row.blockchain_id, settings)))} AS {alias_of(row.blockchain_id)};"
        for row in rows
    ]
    views = db.rows(
        "SELECT name FROM sqlite_master WHERE type = 'view' AND substr(name, 1, 2) = 'c_' ORDER BY name"
    )
    return [
        *attached,
        *(
            f"CREATE TEMP VIEW {_of_all(str(view))} AS {_select(str(view), '*', chains)};"
            for (view,) in views
        ),
    ]


def _statements(db: Database) -> dict[str, str]:
    """Return the query of each view by its name; empty if no chain of a subnet has a database."""
    rows = [row for row in subnet_chain_rows.rows(db) if row.database]
    columns: dict[str, dict[str, str]] = {}
    found = db.rows(_COLUMNS, (OF_C_CHAIN, [row.database for row in rows]))
    for schema, view, names in found:
        columns.setdefault(str(schema), {})[str(view)] = str(names)
    ((own,),) = db.rows("SELECT current_schema()")
    current: Mapping[str, str] = columns.get(str(own), {})
    chains = [
        _chain(row.blockchain_id, row.name) for row in rows if columns.get(row.database) == current
    ]
    if not chains:
        return {}
    every = [ChainInViews(C_CHAIN, title(C_CHAIN), str(own)), *chains]
    return {_of_all(view): _select(view, names, every) for view, names in sorted(current.items())}


def _chain(blockchain_id: ID, name: str) -> ChainInViews:
    return ChainInViews(str(blockchain_id), name, alias_of(blockchain_id))


def _select(view: str, columns: str, chains: Iterable[ChainInViews]) -> str:
    return " UNION ALL ".join(
        f"SELECT {_quoted(chain.name)} AS chain, {_quoted(chain.title)} AS chain_name, {columns} "  # noqa: S608  # names of the schema
        f'FROM "{chain.schema}"."{view}"'
        for chain in chains
    )


def _of_all(view: str) -> str:
    return OF_ALL + view.removeprefix(OF_C_CHAIN)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _drop(db: Database, names: Iterable[str]) -> None:
    for name in names:
        db.execute(f'DROP VIEW IF EXISTS "{name}"')
