"""Many rows in one statement's preparation: what a block commits, without model instances.

Model instances cost ten times what the database takes for a row; a block of a thousand transfers
writes ten thousand rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from chaindb.fields import UnsignedField, for_database

Row = Sequence[Any]
Columns = tuple[str, ...]


def insert(model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
    """Insert rows; each has the values of `columns` (names of fields) in their order."""
    _execute(_insertion(model, columns), model, columns, rows)


def upsert(model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
    """Insert rows, or overwrite those that have the same primary key (the first column)."""
    _execute(_upsertion(model, columns), model, columns, rows)


def update(model: type[Model], keys: Columns, columns: Columns, rows: Iterable[Row]) -> None:
    """Overwrite `columns` of the rows that have the given values in `keys`.

    Each of `rows` has the values of `columns`, then those of `keys`.
    """
    _execute(_update(model, keys, columns), model, (*columns, *keys), rows)


def delete(model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
    """Delete the rows that have the given values in `columns`, one row of values for each."""
    _execute(_deletion(model, columns), model, columns, rows)


def _execute(sql: str, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
    vendor = connection.vendor  # asking the connection for each value takes longer than to adapt it
    big = _big_integers(model, columns) if vendor != "postgresql" else {}
    adapted = [_adapt(row, big, vendor) for row in rows] if big else list(rows)
    if adapted:
        with connection.cursor() as cursor:
            cursor.executemany(sql, adapted)


def _adapt(row: Row, big: Mapping[int, int], vendor: str) -> list[Any]:
    """Give big integers the form that this database's columns have."""
    values = list(row)
    for place, digits in big.items():
        if values[place] is not None:
            values[place] = for_database(values[place], digits, vendor)
    return values


@cache
def _insertion(model: type[Model], columns: Columns) -> str:
    names = ", ".join(_column(model, name) for name in columns)
    marks = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {_quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608  # names are the model's


@cache
def _upsertion(model: type[Model], columns: Columns) -> str:
    key, *others = (_column(model, name) for name in columns)
    updates = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"{_insertion(model, columns)} ON CONFLICT ({key}) DO UPDATE SET {updates}"


@cache
def _update(model: type[Model], keys: Columns, columns: Columns) -> str:
    changes = ", ".join(f"{_column(model, name)} = %s" for name in columns)
    matches = " AND ".join(f"{_column(model, name)} = %s" for name in keys)
    return f"UPDATE {_quote(model._meta.db_table)} SET {changes} WHERE {matches}"  # noqa: S608  # names are the model's


@cache
def _deletion(model: type[Model], columns: Columns) -> str:
    matches = " AND ".join(f"{_column(model, name)} = %s" for name in columns)
    return f"DELETE FROM {_quote(model._meta.db_table)} WHERE {matches}"  # noqa: S608  # names are the model's


@cache
def _big_integers(model: type[Model], columns: Columns) -> dict[int, int]:
    """Return the places of integers beyond 63 bits, and how many digits they have."""
    fields = ((place, model._meta.get_field(name)) for place, name in enumerate(columns))
    return {place: field.digits for place, field in fields if isinstance(field, UnsignedField)}


def _column(model: type[Model], name: str) -> str:
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    assert field.column is not None
    return _quote(field.column)


def _quote(name: str) -> str:
    return str(connection.ops.quote_name(name))
