"""Migration of SQLite tables whose primary key is not the rowid (see `fields.RowIdField`)."""

import re
from typing import Any, Final, NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_OLD_KEY: Final = re.compile(r'(?P<column>"\w+") bigint NOT NULL PRIMARY KEY')


class _Made(NamedTuple):
    """Name and SQL statement of an object in the schema."""

    name: str
    statement: str


def keep_by_rowid(_apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Rebuild these tables with their rows, one by one, in the running transaction. For a migration.

    Foreign keys must not be enforced meanwhile; Django's schema editor ensures that. Until the
    transaction ends, the tables take their disk space twice.
    """
    if schema_editor.connection.vendor != "sqlite":
        return
    old = [table for table in _made(schema_editor, "table") if _OLD_KEY.search(table.statement)]
    # SQLite does not rename a table while a view refers to a missing table.
    views = _made(schema_editor, "view") if old else []
    for view in reversed(views):
        schema_editor.execute(f'DROP VIEW "{view.name}"')
    for table in old:
        _make_anew(schema_editor, table)
    for view in views:
        schema_editor.execute(view.statement)


def _make_anew(schema_editor: BaseDatabaseSchemaEditor, table: _Made) -> None:
    """Rebuild a table (SQLite's "ALTER TABLE", Making Other Kinds Of Table Schema Changes)."""
    indexes = _made(schema_editor, "index", table.name)
    new = f"new__{table.name}"
    named = table.statement.replace(f'"{table.name}"', f'"{new}"', 1)
    key = _OLD_KEY.search(named)
    assert key is not None, "such are chosen"
    column = key["column"]
    schema_editor.execute(_OLD_KEY.sub(r"\g<column> integer NOT NULL PRIMARY KEY", named))
    schema_editor.execute(f'INSERT INTO "{new}" SELECT * FROM "{table.name}" ORDER BY {column}')  # noqa: S608  # names come from the schema
    schema_editor.execute(f'DROP TABLE "{table.name}"')
    schema_editor.execute(f'ALTER TABLE "{new}" RENAME TO "{table.name}"')
    for index in indexes:
        schema_editor.execute(index.statement)


def _made(
    schema_editor: BaseDatabaseSchemaEditor, kind: str, table: str | None = None
) -> list[_Made]:
    """Return the schema objects of one kind that have SQL of their own, oldest first.

    With `table`, only those of the table.
    """
    statement = "SELECT name, sql FROM sqlite_master WHERE type = %s AND sql IS NOT NULL"
    params = [kind]
    if table is not None:
        statement += " AND tbl_name = %s"
        params.append(table)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"{statement} ORDER BY rowid", params)
        return [_Made(*row) for row in cursor.fetchall()]
