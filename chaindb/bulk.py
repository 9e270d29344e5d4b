"""Statements that write many rows of one model at once, in each database's own way.

SQLite runs a statement once for each row, unless they are many (`packed`). PostgreSQL would read, plan and answer each
of them, which costs more than to write the row: there one statement takes all rows, a list for each column, and is
prepared. Few rows stand in the text of a message with others.
"""

# ruff: noqa: S608  # names of tables and columns are the models'

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
Question = tuple[str, Sequence[Any]]
"""A statement with the values for its marks."""
Rows = list[tuple[Any, ...]]
_Field: TypeAlias = "Field[Any, Any]"

_AT_ONCE: Final = 1_000
"""Rows that are written at once, at most."""

_FEW: Final = 50
"""Rows of a statement that is sent with others."""

_MANY: Final = 50
"""From so many rows on they are packed into one statement on SQLite; fewer are bound sooner."""

_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "bytea": bytes, "bigint": int, "integer": int, "smallint": int, "numeric": int,
    "text": str, "varchar": str,
}  # fmt: skip
"""What values of a column's type become: a list of subclasses, like hashes beside bytes, has no one type."""


_PACKS: Final[Mapping[str, Pack]] = {
    "BLOB": packed.blobs, "bigint": packed.integers, "bool": packed.integers, "integer": packed.integers,
    "smallint": packed.integers, "text": packed.texts, "varchar": packed.texts,
}  # fmt: skip
"""How the values of a column's type are packed on SQLite."""


class BulkStatement(Protocol):
    """Writes rows of one kind."""

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield rows in parts that are written at once, none of them empty."""

    def of_few(self, rows: Sequence[Row]) -> Question | None:
        """Return a statement that writes a part, for a message with others; None: it is to be run by itself."""

    def run(self, connection: BaseDatabaseWrapper, rows: Sequence[Row]) -> None:
        """Write a part."""


def bulk_statement(
    connection: BaseDatabaseWrapper, verb: str, model: type[Model], columns: Columns, keys: Columns
) -> BulkStatement:
    """Return what writes rows of a model.

    Args:
        connection: To the database in which they are.
        verb: `insert`; `upsert`, which overwrites rows that have the same first column, the primary key; `update`,
            by `keys`; or `delete`, by `columns`.
        model: Whose rows.
        columns: Fields that a row has values for, by name.
        keys: Of an update: fields by which rows are found; their values follow the others.
    """
    kind = _ListByList if connection.vendor == "postgresql" else _RowByRow
    fields = [_field(model, name) for name in (*columns, *keys)]
    return kind(connection, verb, model, fields, len(columns))


class _RowByRow:
    """A statement of SQLite with a mark for each value of a row; insertions of many rows are packed."""

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
            "insert": lambda: f"{_insert(table, names)} VALUES ({_marks(names)})",
            "upsert": lambda: (
                f"{_insert(table, names)} VALUES ({_marks(names)}) {_overwrite(names)}"
            ),
            "update": lambda: (
                f"UPDATE {table} SET {', '.join(equal[:written])} WHERE {' AND '.join(equal[written:])}"
            ),
            "delete": lambda: f"DELETE FROM {table} WHERE {' AND '.join(equal)}",
        }[verb]()
        self._wide = {
            place: field.digits
            for place, field in enumerate(fields)
            if isinstance(field, UnsignedField)
        }
        """Places of integers beyond 63 bits, and how many digits they have."""
        self._vendor = connection.vendor
        self._head = _insert(table, names)
        self._tail = _overwrite(names) if verb == "upsert" else ""
        packs = [_PACKS.get(_type(field, connection)) for field in fields]
        self._packs = [one for one in packs if one is not None]
        self._is_packed = verb in {"insert", "upsert"} and len(self._packs) == len(packs)

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield rows in parts."""
        return _in_parts(rows)

    def of_few(self, rows: Sequence[Row]) -> None:
        """Return that no message takes statements here."""
        del rows

    def run(self, connection: BaseDatabaseWrapper, rows: Sequence[Row]) -> None:
        """Write rows."""
        rows = [*map(self._adapt, rows)] if self._wide else rows
        with connection.cursor() as cursor:
            if self._is_packed and len(rows) >= _MANY:
                cursor.execute(*packed.packed(self._head, self._tail, self._packs, rows))
            else:
                cursor.executemany(self._sql, rows)

    def _adapt(self, row: Row) -> list[Any]:
        """Give big integers the form that this database's columns have."""
        values = list(row)
        for place, digits in self._wide.items():
            if values[place] is not None:
                values[place] = for_database(values[place], digits, self._vendor)
        return values


class _ListByList:
    """A statement of PostgreSQL with a mark for each column: a list of the rows' values."""

    def __init__(
        self,
        connection: BaseDatabaseWrapper,
        verb: str,
        model: type[Model],
        fields: Sequence[_Field],
        written: int,
    ) -> None:
        table, names = _names(connection, model, fields)
        # Without their lengths, to which a cast would cut in silence what an insertion refuses.
        types = [_type(field, connection) for field in fields]
        given = f"unnest({', '.join(f'%s::{one}[]' for one in types)})"
        named = f"{given} AS given({', '.join(f'g{place}' for place in range(len(names)))})"
        equal = [f"{name} = g{place}" for place, name in enumerate(names)]
        matching = [f"{table}.{one}" for one in equal]
        # Rows are written, and numbered, in the order in which `unnest` gives them.
        self._sql = {
            "insert": lambda: f"{_insert(table, names)} SELECT * FROM {given}",
            "upsert": lambda: f"{_insert(table, names)} SELECT * FROM {given} {_overwrite(names)}",
            "update": lambda: (
                f"UPDATE {table} SET {', '.join(equal[:written])} FROM {named}"
                f" WHERE {' AND '.join(matching[written:])}"
            ),
            "delete": lambda: f"DELETE FROM {table} USING {named} WHERE {' AND '.join(matching)}",
        }[verb]()
        row = f"({_marks(names)})"
        self._of_few: Callable[[int], str] | None = {
            "insert": lambda count: f"{_insert(table, names)} VALUES {_list(row, count)}",
            "upsert": lambda count: (
                f"{_insert(table, names)} VALUES {_list(row, count)} {_overwrite(names)}"
            ),
            "update": None,
            "delete": lambda count: (
                f"DELETE FROM {table} WHERE ({', '.join(names)}) IN ({_list(row, count)})"
            ),
        }[verb]
        self._key = {"insert": None, "delete": None, "upsert": slice(1), "update": slice(written, None)}[verb]  # fmt: skip
        """What of a row says which one it overwrites: of several that say the same the last one counts."""
        self._plain = [_PLAIN.get(one) for one in types]

    def parts(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield rows in parts."""
        return _in_parts(rows)

    def of_few(self, rows: Sequence[Row]) -> Question | None:
        """Return a statement with a mark for each value: it is planned sooner than one with lists."""
        if len(rows) > _FEW:
            return None
        rows = list(self._last_ones(rows))
        if self._of_few is None:
            return self._sql, self._lists(rows)
        return self._of_few(len(rows)), [value for row in rows for value in row]

    def run(self, connection: Any, rows: Sequence[Row]) -> None:
        """Write rows by the prepared statement; lists go to the server as such."""
        with connection.prepared_cursor() as cursor:
            cursor.execute(self._sql, self._lists(rows))

    def _lists(self, rows: Sequence[Row]) -> list[list[Any]]:
        """Return the values of each column."""
        lists = zip(*self._last_ones(rows), strict=True)
        return [_plain(kind, one) for kind, one in zip(self._plain, lists, strict=True)]

    def _last_ones(self, rows: Sequence[Row]) -> Iterable[Row]:
        if self._key is None or len(rows) == 1:
            return rows
        return {tuple(row[self._key]): row for row in rows}.values()


def _in_parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in parts, so that a large block is not in memory twice."""
    rest = iter(rows)
    while part := list(islice(rest, _AT_ONCE)):
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


def _list(row: str, count: int) -> str:
    return ", ".join([row] * count)


def _marks(names: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(names))


def _names(
    connection: BaseDatabaseWrapper, model: type[Model], fields: Iterable[_Field]
) -> tuple[str, list[str]]:
    """Return table and columns as they stand in a statement."""
    quote = connection.ops.quote_name
    return str(quote(model._meta.db_table)), [str(quote(field.column or "")) for field in fields]


def _type(field: _Field, connection: BaseDatabaseWrapper) -> str:
    """Return the type of a field's column, without its length."""
    return str(field.db_type(connection)).partition("(")[0]


def _field(model: type[Model], name: str) -> _Field:
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    assert field.column is not None
    return field
