"""Parts of migrations: SQL views for users who run queries, and SQLite tables whose primary key becomes the rowid."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

View = tuple[str, str]
"""Tables (the text after FROM) and columns (the text after SELECT)."""

_FORMS = {
    "postgresql": {
        "hex": "'0x' || encode({0}, 'hex')",
        "time": "to_timestamp({0})",
        "number": "{0}",
        "real": "{0}",
        "integer": "{0}",
    },
    "sqlite": {
        # SQLite's || and hex() turn null into text.
        "hex": "CASE WHEN {0} IS NULL THEN NULL ELSE '0x' || lower(hex({0})) END",
        "time": "datetime({0}, 'unixepoch')",
        "number": "CASE WHEN {0} IS NULL THEN NULL "
        "ELSE coalesce(nullif(ltrim({0}, '0'), ''), '0') END",
        "real": "CAST({0} AS REAL)",
        "integer": "CAST({0} AS INTEGER)",
    },
}
_SHOWN = re.compile(r"\{(?P<form>[a-z]+):(?P<table>\w+)\.(?P<column>\w+)\}")


def create(schema_editor: BaseDatabaseSchemaEditor, views: Mapping[str, View]) -> None:
    """Create views, in order."""
    forms = _FORMS[schema_editor.connection.vendor]

    def show(match: re.Match[str]) -> str:
        column = f'{match["table"]}."{match["column"]}"'
        return forms[match["form"]].format(column)

    for name, (tables, columns) in views.items():
        select_list = _SHOWN.sub(show, columns)
        schema_editor.execute(f"CREATE VIEW {name} AS SELECT {select_list} FROM {tables}")  # noqa: S608  # fixed SQL of migrations


def drop(schema_editor: BaseDatabaseSchemaEditor, views: Mapping[str, View]) -> None:
    """Drop views, in reverse order."""
    for name in reversed(list(views)):
        schema_editor.execute(f"DROP VIEW {name}")


def named(column: str, names: Mapping[int, str]) -> str:
    """Return the SQL expression that shows a number by its name."""
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in names.items())
    return f"CASE {column} {cases} END"


_OLD_KEY: Final = re.compile(r'(?P<column>"\w+") bigint NOT NULL PRIMARY KEY')


class _SchemaObject(NamedTuple):
    """Name and SQL statement of an object in the schema."""

    name: str
    statement: str


def rebuild_with_rowid(_apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Rebuild these tables with their rows, one by one, in the running transaction. For a migration.

    Foreign keys must not be enforced meanwhile; Django's schema editor ensures that. Until the
    transaction ends, the tables take their disk space twice.
    """
    if schema_editor.connection.vendor != "sqlite":
        return
    old = [
        table
        for table in _schema_objects(schema_editor, "table")
        if _OLD_KEY.search(table.statement)
    ]
    # SQLite does not rename a table while a view refers to a missing table.
    views = _schema_objects(schema_editor, "view") if old else []
    for view in reversed(views):
        schema_editor.execute(f'DROP VIEW "{view.name}"')
    for table in old:
        _rebuild(schema_editor, table)
    for view in views:
        schema_editor.execute(view.statement)


def _rebuild(schema_editor: BaseDatabaseSchemaEditor, table: _SchemaObject) -> None:
    """Rebuild a table (SQLite's "ALTER TABLE", Making Other Kinds Of Table Schema Changes)."""
    indexes = _schema_objects(schema_editor, "index", table.name)
    new = f"new__{table.name}"
    named = table.statement.replace(f'"{table.name}"', f'"{new}"', 1)
    key = _OLD_KEY.search(named)
    assert key is not None, "the caller selects tables with such a key"
    column = key["column"]
    schema_editor.execute(_OLD_KEY.sub(r"\g<column> integer NOT NULL PRIMARY KEY", named))
    schema_editor.execute(f'INSERT INTO "{new}" SELECT * FROM "{table.name}" ORDER BY {column}')  # noqa: S608  # names come from the schema
    schema_editor.execute(f'DROP TABLE "{table.name}"')
    schema_editor.execute(f'ALTER TABLE "{new}" RENAME TO "{table.name}"')
    for index in indexes:
        schema_editor.execute(index.statement)


def _schema_objects(
    schema_editor: BaseDatabaseSchemaEditor, kind: str, table: str | None = None
) -> list[_SchemaObject]:
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
        return [_SchemaObject(*row) for row in cursor.fetchall()]
