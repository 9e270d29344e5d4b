"""The PostgreSQL schema of a subnet's chain is a copy of the node's tables, indexes, constraints and views."""

import pytest
from django.db import ProgrammingError, connection, transaction

from cchain_app.store import subnet_chains as rows
from chaindb import versions
from nodeproject.startup import chain_databases
from nodeproject.startup.chain_databases import alias_of, make_database
from nodeproject.startup.database import is_current
from tests.integration.nodeproject.test_subnet_chains import World, world

__all__ = ["world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
    pytest.mark.skipif(
        connection.vendor != "postgresql",
        reason="SQLite has no schemas: each chain has a file of its own (test_subnet_chains.py)",
    ),
]

CATALOG = {
    "columns": """
        SELECT table_name, column_name, rank() OVER (PARTITION BY table_name ORDER BY ordinal_position), data_type, character_maximum_length, is_nullable,
               column_default, is_identity, identity_generation, collation_name
        FROM information_schema.columns WHERE table_schema = current_schema()
    """,
    "constraints": """
        SELECT conname, contype, conrelid::regclass::text, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
    """,
    "indexes": """
        SELECT c.relname, pg_get_indexdef(c.oid, 0, true) FROM pg_class c
        WHERE c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace
    """,
    "views": """
        SELECT relname, pg_get_viewdef(oid, true) FROM pg_class
        WHERE relkind = 'v' AND relnamespace = current_schema()::regnamespace AND NOT starts_with(relname, 'evm_')
    """,
    "sequences": "SELECT sequencename, start_value, increment_by FROM pg_sequences WHERE schemaname = current_schema()",
    "storage": """
        SELECT relname, relkind, reloptions FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind <> 'v'
    """,
    "migrations": "SELECT app, name FROM django_migrations",
}
"""Queries that describe the current schema."""


def described(schema: str) -> dict[str, list[tuple[object, ...]]]:
    """Return the catalog's rows about a schema, without the schema's name."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('search_path', quote_ident(%s), true)", [schema])
        found = {}
        for name, query in CATALOG.items():
            cursor.execute(query)
            found[name] = sorted(cursor.fetchall(), key=repr)
    return found


def test_a_schema_has_all_definitions_of_the_nodes_own(world: World) -> None:
    own = world.node.database
    before = own.row("SHOW search_path")
    of_node = described("public")
    schema = alias_of(world.create())
    copied = described(schema)
    assert of_node["indexes"]
    assert of_node["views"]
    for name, expected in of_node.items():
        assert copied[name] == expected, name
    assert own.row("SHOW search_path") == before


def test_what_belongs_to_an_extension_is_not_copied(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    own = world.node.database
    found = own.row("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements'")
    if found is None:
        pytest.skip("the server has no extension with views")
    own.execute("CREATE EXTENSION pg_stat_statements SCHEMA public")
    try:
        own.execute("CREATE TABLE of_extension (key int PRIMARY KEY, value int CHECK (value > 0))")
        own.execute("CREATE INDEX of_extension_value ON of_extension (value)")
        own.execute("ALTER EXTENSION pg_stat_statements ADD TABLE of_extension")
        schema = alias_of(world.create())
    finally:
        own.execute("DROP EXTENSION pg_stat_statements")
        own.execute("DROP TABLE IF EXISTS of_extension")

    assert "made by migrations" not in caplog.text
    query = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace"
    names = {str(name) for (name,) in own.rows(query, (schema,))}
    assert "cchain_app_block" in names
    assert not {name for name in names if name.startswith(("pg_stat", "of_extension"))}


def test_a_second_call_changes_nothing(world: World) -> None:
    chain = world.create()
    schema = alias_of(chain)
    before = described(schema)
    db = make_database(chain, world.node.settings)
    assert is_current(schema)
    assert len(versions.recorded(db)) == 1
    assert described(schema) == before


def test_migrations_make_tables_that_cannot_be_copied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ProgrammingError("relation of an operator's view does not exist")

    copy, made = chain_databases.copy_definitions, []

    def migrate(alias: str) -> None:
        """Make the tables as fast as a copy."""
        made.append(alias)
        with world.node.database.atomic():
            world.node.database.execute(f'DROP SCHEMA "{alias}"')
            copy(world.node.database, alias, except_views="evm_")

    monkeypatch.setattr(chain_databases, "copy_definitions", refuse)
    monkeypatch.setattr(chain_databases, "make_tables", migrate)
    chain = world.create()
    assert made == [alias_of(chain)]
    assert world.row(chain).state == rows.RUNNING
