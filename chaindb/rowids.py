"""Tables of SQLite that an older version keeps by a key that is no rowid (see `fields.RowIdField`)."""

import re
from typing import Any, Final, NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_OLD_KEY: Final = re.compile(r'(?P<column>"\w+") bigint NOT NULL PRIMARY KEY')


class _Made(NamedTuple):
    """A name of the schema, and the statement that makes what bears it."""

    name: str
    statement: str


def keep_by_rowid(_apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make such tables anew with their rows, one after the other, in the running transaction. Code of a migration.

    Foreign keys must not be enforced meanwhile; Django's schema editor sees to that. Takes the disk space of all of
    these tables once more until the transaction ends.
    """
    if schema_editor.connection.vendor != "sqlite":
        return
    old = [table for table in _made(schema_editor, "table") if _OLD_KEY.search(table.statement)]
    # SQLite renames no table while a view is about one that is missing.
    views = _made(schema_editor, "view") if old else []
    for view in reversed(views):
        schema_editor.execute(f'DROP VIEW "{view.name}"')
    for table in old:
        _make_anew(schema_editor, table)
    for view in views:
        schema_editor.execute(view.statement)


def _make_anew(schema_editor: BaseDatabaseSchemaEditor, table: _Made) -> None:
    """Make a table anew ("ALTER TABLE" of SQLite's documentation, Making Other Kinds Of Table Schema Changes)."""
    indexes = _made(schema_editor, "index", table.name)
    new = f"new__{table.name}"
    named = table.statement.replace(f'"{table.name}"', f'"{new}"', 1)
    key = _OLD_KEY.search(named)
    assert key is not None, "such are chosen"
    column = key["column"]
    schema_editor.execute(_OLD_KEY.sub(r"\g<column> integer NOT NULL PRIMARY KEY", named))
    schema_editor.execute(f'INSERT INTO "{new}" SELECT * FROM "{table.name}" ORDER BY {column}')  # noqa: S608  # names are the schema's
    schema_editor.execute(f'DROP TABLE "{table.name}"')
    schema_editor.execute(f'ALTER TABLE "{new}" RENAME TO "{table.name}"')
    for index in indexes:
        schema_editor.execute(index.statement)


def _made(
    schema_editor: BaseDatabaseSchemaEditor, kind: str, table: str | None = None
) -> list[_Made]:
    """Return what of a kind was made by a statement of its own, oldest first; indexes of one table."""
    statement = "SELECT name, sql FROM sqlite_master WHERE type = %s AND sql IS NOT NULL"
    asked = [kind]
    if table is not None:
        statement += " AND tbl_name = %s"
        asked.append(table)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"{statement} ORDER BY rowid", asked)
        return [_Made(*row) for row in cursor.fetchall()]
