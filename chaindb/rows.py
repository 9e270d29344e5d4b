"""Copy all rows of a table between databases, each of which may be PostgreSQL or SQLite.

On the way a row consists of database-independent values: int, float, bool, str, bytes, None and
datetimes with a time zone; 256-bit integers are decimal text. Rows are read and written in parts, so
a table may be larger than memory.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from django.db import models

from chaindb.database import Database, Row
from chaindb.fields import BytesField, UInt64Field, UInt256Field, for_database

PART: Final = 1_000
"""Rows that are read or written in one part."""

_SEQUENCES: Final = """
SELECT pg_get_serial_sequence(%s, a.attname), a.attname FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_get_serial_sequence(%s, a.attname) IS NOT NULL
"""

Convert = Callable[[Any], Any]


class UnknownColumn(Exception):
    """A column of a type that cannot be copied (only possible for a new model)."""

    def __init__(self, field: "models.Field[Any, Any]") -> None:
        super().__init__(f"{field} has a type that cannot be copied to another database")


class Table:
    """The table of a model.

    Args:
        model: The model.

    Raises:
        UnknownColumn: The model has a column that cannot be copied.
    """

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.name: str = model._meta.db_table
        fields = [field for field in model._meta.concrete_fields if field.column]
        self.columns: tuple[str, ...] = tuple(str(field.column) for field in fields)
        self._fields = [_value_field(field) for field in fields]
        self._order = ", ".join(f'"{field.column}"' for field in model._meta.pk_fields)
        kinds = [_kind(field) for field in self._fields]
        self.types: tuple[type, ...] = tuple(type_ for type_, _ in kinds)
        """Types of the plain values of each column, which may also be None."""
        self._plain = [convert for _, convert in kinds]

    def count(self, db: Database) -> int:
        """Return how many rows there are."""
        row = db.row(f'SELECT count(*) FROM "{self.name}"')  # noqa: S608  # names come from the models
        return int(row[0]) if row else 0

    def has_rows(self, db: Database) -> bool:
        """Return whether there are rows."""
        return db.row(f'SELECT 1 FROM "{self.name}" LIMIT 1') is not None  # noqa: S608  # as above

    def read(self, db: Database) -> Iterator[Row]:
        """Yield all rows as plain values, sorted by key. A transaction makes them consistent."""
        column_list = ", ".join(f'"{name}"' for name in self.columns)
        statement = f'SELECT {column_list} FROM "{self.name}" ORDER BY {self._order}'  # noqa: S608  # as above
        with db.connection.chunked_cursor() as cursor:
            cursor.execute(statement)
            while part := cursor.fetchmany(PART):
                for row in part:
                    yield tuple(map(_converted, self._plain, row))

    def write(self, db: Database, rows: Iterable[Row]) -> int:
        """Insert rows from `read` within the caller's transaction; return the number of rows.

        New rows then get keys above those of these rows.
        """
        if db.connection.vendor != "postgresql":
            return _insert(db, self, rows)  # SQLite chooses keys above the existing ones
        written = _copy(db, self, rows)
        raise_sequences(db, self.name)
        return written

    def empty(self, db: Database) -> None:
        """Delete all rows."""
        db.execute(f'DELETE FROM "{self.name}"')  # noqa: S608  # as above

    def for_sqlite(self) -> list[Convert]:
        """Return for each column a function from the plain value to the value in SQLite."""
        return [_for_sqlite(field) for field in self._fields]


def _value_field(field: "models.Field[Any, Any]") -> "models.Field[Any, Any]":
    """Return the field that defines a column's values: for a foreign key, the field that it refers to."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    return field


def _converted(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _kind(field: "models.Field[Any, Any]") -> tuple[type, Convert]:
    """Return the type of a column's plain values, and the function that converts to it."""
    kinds: tuple[tuple[type[models.Field[Any, Any]], type, Convert], ...] = (
        (BytesField, bytes, bytes),
        (UInt256Field, str, lambda value: str(int(value))),
        (UInt64Field, int, int),
        (models.BooleanField, bool, bool),
        (models.DateTimeField, datetime, _moment),
        (models.JSONField, str, _json),
        (models.IntegerField, int, int),
        (models.FloatField, float, float),
        (models.CharField, str, str),
        (models.TextField, str, str),
    )
    for kind, type_, convert in kinds:
        if isinstance(field, kind):
            return type_, convert
    raise UnknownColumn(field)


def _moment(value: Any) -> datetime:
    """Return a time with its time zone. SQLite has it as text, in UTC."""
    moment: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _for_sqlite(field: "models.Field[Any, Any]") -> Convert:
    if isinstance(field, UInt64Field | UInt256Field):
        return lambda value: for_database(int(value), field.width, "sqlite")
    if isinstance(field, models.DateTimeField):
        return lambda value: str(value.astimezone(UTC).replace(tzinfo=None))
    return lambda value: value


def _copy(db: Database, table: Table, rows: Iterable[Row]) -> int:
    """Insert rows by COPY, which takes a third of the time of INSERT statements, and collect the table's statistics.

    Without them PostgreSQL reads whole tables for short queries. Autovacuum collects them a minute later or more.
    """
    column_list = ", ".join(f'"{name}"' for name in table.columns)
    written = 0
    connection = db.connection
    statement = f'COPY "{table.name}" ({column_list}) FROM STDIN'
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(statement) as copy,
    ):
        for row in rows:
            copy.write_row(row)
            written += 1
    db.execute(f'ANALYZE "{table.name}"')
    return written


def _insert(db: Database, table: Table, rows: Iterable[Row]) -> int:
    column_list = ", ".join(f'"{name}"' for name in table.columns)
    placeholders = ", ".join(["%s"] * len(table.columns))
    statement = f'INSERT INTO "{table.name}" ({column_list}) VALUES ({placeholders})'  # noqa: S608  # as above
    adapt = table.for_sqlite()
    written, remaining = 0, iter(rows)
    with db.connection.cursor() as cursor:
        while part := list(islice(remaining, PART)):
            cursor.executemany(statement, [tuple(map(_converted, adapt, row)) for row in part])
            written += len(part)
    return written


def raise_sequences(db: Database, table: str) -> None:
    """Raise the sequences above all existing keys, and never lower them, so that no key is used twice."""
    own = db.connection.ops.quote_name(table)
    for sequence, column in db.rows(_SEQUENCES, [own, table, own]):
        key = db.connection.ops.quote_name(column)
        db.execute(
            f"SELECT setval(%s, greatest((SELECT last_value FROM {sequence}), "  # noqa: S608  # quoted by PostgreSQL
            f"(SELECT COALESCE(max({key}), 1) FROM {own})))",
            [sequence],
        )
