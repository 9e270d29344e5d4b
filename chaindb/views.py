"""SQL views for users who run queries, written once for both databases. Migrations create them.

A view consists of its tables and its columns. `{form:table.column}` is a column in some form: `hex`
shows bytes as 0x text, `time` Unix seconds as a timestamp, `number` a big integer exactly, `real` as
a number to calculate with, `integer` as a number within 63 bits, for sums.
"""

import re
from collections.abc import Mapping

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
