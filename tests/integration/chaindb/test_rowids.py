"""SQLite tables with an integer key use the rowid as key, even if an older version created them otherwise."""

import re
from typing import Any

import pytest
from django.db import connection, models

from cchain_app.models import Account, Block, Receipt
from chaindb.fields import RowIdField, row_id
from chaindb.migrating import rebuild_with_rowid
from nodeproject.copies import tables

sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no rowids")

BLOCK = {
    "parent_hash": bytes(32), "timestamp": 7, "state_root": bytes(32), "miner": bytes(20), "gas_limit": 1, "gas_used": 0,
    "size": 1, "transaction_count": 0, "log_count": 0, "header": b"\xc0",
}  # fmt: skip
RECEIPT = {
    "succeeded": True, "gas_used": 1, "cumulative_gas_used": 1, "effective_gas_price": 1, "first_log_index": 0,
    "log_count": 0,
}  # fmt: skip


@sqlite
@pytest.mark.django_db
def test_integer_keys_have_no_separate_index() -> None:
    by_number = [table for table in tables.EVERYTHING.tables() if _is_kept_by_number(table.model)]
    assert len(by_number) > 12
    assert [table.name for table in by_number if _has_index_of_key(table.name)] == []


@sqlite
@pytest.mark.django_db(transaction=True)
def test_old_table_is_rebuilt_with_rows_indexes_and_views() -> None:
    for number in (3, 1, 2**62, 2):
        Block.objects.create(number=number, hash=number.to_bytes(32, "big"), **BLOCK)
        Receipt.objects.create(transaction_id=row_id(number % 2**40), **RECEIPT)
    schema, rows = _schema(), _rows()
    _make_as_before()
    assert _has_index_of_key(Block._meta.db_table)
    assert _has_index_of_key(Receipt._meta.db_table)

    with connection.schema_editor() as editor:
        rebuild_with_rowid(None, editor)

    assert (_schema(), _rows()) == (schema, rows)
    assert not _has_index_of_key(Block._meta.db_table)
    assert not _has_index_of_key(Receipt._meta.db_table)


@sqlite
@pytest.mark.django_db(transaction=True)
def test_current_tables_are_not_rebuilt() -> None:
    version = _ask("PRAGMA schema_version")
    with connection.schema_editor() as editor:
        rebuild_with_rowid(None, editor)
    assert _ask("PRAGMA schema_version") == version


def _is_kept_by_number(model: type[models.Model]) -> bool:
    key = model._meta.pk
    if isinstance(key, models.ForeignKey):
        key = key.target_field
    return isinstance(key, models.BigIntegerField)


def _has_index_of_key(table: str) -> bool:
    return any(origin == "pk" for _, _, _, origin, _ in _ask(f'PRAGMA index_list("{table}")'))


def _make_as_before() -> None:
    """Create tables of the C-Chain as versions before `RowIdField` did."""
    with connection.schema_editor() as editor:
        made = _ask(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        )
        views = [(name, statement) for kind, name, statement in made if kind == "view"]
        for name, _ in views:
            editor.execute(f'DROP VIEW "{name}"')
        for kind, name, statement in made:
            old = re.sub(r'" integer (NOT NULL PRIMARY KEY)(?! AUTO)', r'" bigint \1', statement)
            if kind == "table" and old != statement and name.startswith("cchain_app_"):
                indexes = _ask(
                    "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = %s", name
                )
                editor.execute(old.replace(name, f"old__{name}", 1))
                editor.execute(f'INSERT INTO "old__{name}" SELECT * FROM "{name}"')
                editor.execute(f'DROP TABLE "{name}"')
                editor.execute(f'ALTER TABLE "old__{name}" RENAME TO "{name}"')
                for (index,) in indexes:
                    if index is not None:
                        editor.execute(index)
        for _, statement in views:
            editor.execute(statement)


def _schema() -> set[Any]:
    return set(_ask("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def _rows() -> list[list[Any]]:
    return [list(model.objects.order_by("pk").values_list()) for model in (Block, Receipt, Account)]


def _ask(statement: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall()


def test_a_key_is_an_integer_of_63_bits() -> None:
    field = RowIdField(primary_key=True)
    assert field.get_internal_type() == "BigIntegerField"
    assert field.db_type(connection) == ("integer" if connection.vendor == "sqlite" else "bigint")
