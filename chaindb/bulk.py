"""Bulk writes: statements that write many rows of one model, in the fastest way of each database.

SQLite runs a statement once for each row; many rows are packed into one statement (`packed`).
PostgreSQL would parse, plan and answer one statement for each row, which costs more than writing
the row. There one prepared statement takes all rows, as one array for each column. A few rows are
written as literals in a statement that shares a message with other statements.
"""

# ruff: noqa: S608  # names of tables and columns come from the models

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, Model

from chaindb import packed
from chaindb.fields import UnsignedField, for_database
from chaindb.packed import Pack

Row = Sequence[Any]
Columns = tuple[str, ...]
SqlQuery = tuple[str, Sequence[Any]]
"""A statement with the values of its placeholders."""
Rows = list[tuple[Any, ...]]
_Field: TypeAlias = "Field[Any, Any]"

_MAX_ROWS: Final = 1_000
"""Maximum rows for each write."""

_MAX_FEW: Final = 50
"""Maximum rows of a statement that is sent together with others."""

_MIN_PACKED: Final = 50
"""Minimum rows that SQLite gets packed in one statement; fewer are faster as bound parameters."""

_CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "bytea": bytes, "bigint": int, "integer": int, "smallint": int, "numeric": int,
    "text": str, "varchar": str,
}  # fmt: skip
"""Conversion of values by column type. A list of different subclasses, like hashes and bytes, has
no single type."""


_PACKS: Final[Mapping[str, Pack]] = {
    "BLOB": packed.blobs, "bigint": packed.integers, "bool": packed.integers, "integer": packed.integers,
    "smallint": packed.integers, "text": packed.texts, "varchar": packed.texts,
}  # fmt: skip
"""How values are packed for SQLite, by column type."""


class BulkStatement(Protocol):
    """Writes rows of one model and one set of columns."""

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield the rows in non-empty parts, each for one write."""

    def of_few(self, rows: Sequence[Row]) -> SqlQuery | None:
        """Return a statement for a message with others that writes a part; None: use `run`."""

    def run(self, connection: BaseDatabaseWrapper, rows: Sequence[Row]) -> None:
        """Write a part."""


def bulk_statement(
    connection: BaseDatabaseWrapper, verb: str, model: type[Model], columns: Columns, keys: Columns
) -> BulkStatement:
    """Return the statement that writes rows of a model.

    Args:
        connection: To the database of the rows.
        verb: `insert`; `upsert`, which overwrites rows that have the same first column, the primary
            key; `update`, by `keys`; or `delete`, by `columns`.
        model: Model of the rows.
        columns: Names of the fields that a row has values for.
        keys: For `update`: fields by which rows are selected; their values follow the others.
    """
    kind = _ArrayStatement if connection.vendor == "postgresql" else _RowStatement
    fields = [_field(model, name) for name in (*columns, *keys)]
    return kind(connection, verb, model, fields, len(columns))


class _RowStatement:
    """A SQLite statement with a placeholder for each value of a row. Insertions of many rows are packed."""

    def __init__(
        self,
        connection: BaseDatabaseWrapper,
        verb: str,
        model: type[Model],
        fields: Sequence[_Field],
        written: int,
    ) -> None:
        table, names = _names(connection, model, fields)
        equal = [f"{name} = %s" for name in names]
        self._sql = {
            "insert": lambda: f"{_insert(table, names)} VALUES ({_placeholders(names)})",
            "upsert": lambda: (
                f"{_insert(table, names)} VALUES ({_placeholders(names)}) {_overwrite(names)}"
            ),
            "update": lambda: (
                f"UPDATE {table} SET {', '.join(equal[:written])} WHERE {' AND '.join(equal[written:])}"
            ),
            "delete": lambda: f"DELETE FROM {table} WHERE {' AND '.join(equal)}",
        }[verb]()
        self._wide = {
            position: field.width
            for position, field in enumerate(fields)
            if isinstance(field, UnsignedField)
        }
        """Least digits of the integers beyond 63 bits, by position in the row."""
        self._vendor = connection.vendor
        self._head = _insert(table, names)
        self._tail = _overwrite(names) if verb == "upsert" else ""
        packs = [_PACKS.get(_type(field, connection)) for field in fields]
        self._packs = [pack for pack in packs if pack is not None]
        self._is_packed = verb in {"insert", "upsert"} and len(self._packs) == len(packs)

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield rows in parts."""
        return _in_parts(rows)

    def of_few(self, rows: Sequence[Row]) -> None:
        """Return None: SQLite has no messages with several statements."""
        del rows

    def run(self, connection: BaseDatabaseWrapper, rows: Sequence[Row]) -> None:
        """Write rows."""
        rows = [*map(self._adapt, rows)] if self._wide else rows
        with connection.cursor() as cursor:
            if self._is_packed and len(rows) >= _MIN_PACKED:
                cursor.execute(*packed.packed(self._head, self._tail, self._packs, rows))
            else:
                cursor.executemany(self._sql, rows)

    def _adapt(self, row: Row) -> list[Any]:
        """Convert big integers to the form of this database's columns."""
        values = list(row)
        for position, digits in self._wide.items():
            if values[position] is not None:
                values[position] = for_database(values[position], digits, self._vendor)
        return values


class _ArrayStatement:
    """A PostgreSQL statement with a placeholder for each column: an array of the rows' values."""

    def __init__(
        self,
        connection: BaseDatabaseWrapper,
        verb: str,
        model: type[Model],
        fields: Sequence[_Field],
        written: int,
    ) -> None:
        table, names = _names(connection, model, fields)
        # Types without lengths: a cast with a length truncates silently where an insertion fails.
        types = [_type(field, connection) for field in fields]
        source = f"unnest({', '.join(f'%s::{sql_type}[]' for sql_type in types)})"
        named = f"{source} AS given({', '.join(f'g{position}' for position in range(len(names)))})"
        equal = [f"{name} = g{position}" for position, name in enumerate(names)]
        matching = [f"{table}.{column}" for column in equal]
        # Rows are written and numbered in the order of `unnest`.
        self._sql = {
            "insert": lambda: f"{_insert(table, names)} SELECT * FROM {source}",
            "upsert": lambda: f"{_insert(table, names)} SELECT * FROM {source} {_overwrite(names)}",
            "update": lambda: (
                f"UPDATE {table} SET {', '.join(equal[:written])} FROM {named}"
                f" WHERE {' AND '.join(matching[written:])}"
            ),
            "delete": lambda: f"DELETE FROM {table} USING {named} WHERE {' AND '.join(matching)}",
        }[verb]()
        row = f"({_placeholders(names)})"
        self._of_few: Callable[[int], str] | None = {
            "insert": lambda count: f"{_insert(table, names)} VALUES {_repeat(row, count)}",
            "upsert": lambda count: (
                f"{_insert(table, names)} VALUES {_repeat(row, count)} {_overwrite(names)}"
            ),
            "update": None,
            "delete": lambda count: (
                f"DELETE FROM {table} WHERE ({', '.join(names)}) IN ({_repeat(row, count)})"
            ),
        }[verb]
        self._key = {"insert": None, "delete": None, "upsert": slice(1), "update": slice(written, None)}[verb]  # fmt: skip
        """Slice of a row that identifies the row to overwrite. If several rows share it, the last counts."""
        self._plain = [_CONVERSIONS.get(sql_type) for sql_type in types]

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield rows in parts."""
        return _in_parts(rows)

    def of_few(self, rows: Sequence[Row]) -> SqlQuery | None:
        """Return a statement with a placeholder for each value. It is planned faster than arrays."""
        if len(rows) > _MAX_FEW:
            return None
        rows = list(self._without_duplicates(rows))
        if self._of_few is None:
            return self._sql, self._lists(rows)
        return self._of_few(len(rows)), [value for row in rows for value in row]

    def run(self, connection: Any, rows: Sequence[Row]) -> None:
        """Write rows with the prepared statement, which takes arrays as parameters."""
        with connection.prepared_cursor() as cursor:
            cursor.execute(self._sql, self._lists(rows))

    def _lists(self, rows: Sequence[Row]) -> list[list[Any]]:
        """Return the values of each column."""
        lists = zip(*self._without_duplicates(rows), strict=True)
        return [_plain(kind, values) for kind, values in zip(self._plain, lists, strict=True)]

    def _without_duplicates(self, rows: Sequence[Row]) -> Iterable[Row]:
        if self._key is None or len(rows) == 1:
            return rows
        return {tuple(row[self._key]): row for row in rows}.values()


def _in_parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in parts, so that a large block is not in memory twice."""
    remaining = iter(rows)
    while part := list(islice(remaining, _MAX_ROWS)):
        yield part


def _plain(kind: Callable[[Any], Any] | None, values: Iterable[Any]) -> list[Any]:
    if kind is None:
        return list(values)
    return [None if value is None else kind(value) for value in values]


def _insert(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)})"


def _overwrite(names: Sequence[str]) -> str:
    updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    return f"ON CONFLICT ({names[0]}) DO UPDATE SET {updates}"


def _repeat(row: str, count: int) -> str:
    return ", ".join([row] * count)


def _placeholders(names: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(names))


def _names(
    connection: BaseDatabaseWrapper, model: type[Model], fields: Iterable[_Field]
) -> tuple[str, list[str]]:
    """Return the quoted names of the table and the columns."""
    quote = connection.ops.quote_name
    return str(quote(model._meta.db_table)), [str(quote(field.column or "")) for field in fields]


def _type(field: _Field, connection: BaseDatabaseWrapper) -> str:
    """Return the column type of a field, without its length."""
    return str(field.db_type(connection)).partition("(")[0]


def _field(model: type[Model], name: str) -> _Field:
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    assert field.column is not None
    return field
