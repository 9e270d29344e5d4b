"""Many rows in one statement's preparation: what a block commits, without model instances.

Model instances cost ten times what the database takes for a row; a block of a thousand transfers
writes ten thousand rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from chaindb.fields import UnsignedField, for_database

Row = Sequence[Any]


def insert(model: type[Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows; each has the values of `columns` (names of fields) in their order."""
    _execute(model, columns, rows, "")


def upsert(model: type[Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows, or overwrite those that have the same primary key (the first column)."""
    names = [_column(model, name) for name in columns]
    updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    _execute(model, columns, rows, f" ON CONFLICT ({names[0]}) DO UPDATE SET {updates}")


def delete(model: type[Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Delete the rows that have the given values in `columns`, one row of values for each."""
    adapted = list(_adapt(model, columns, rows))
    if not adapted:
        return
    matches = " AND ".join(f"{_column(model, name)} = %s" for name in columns)
    sql = f"DELETE FROM {_quote(model._meta.db_table)} WHERE {matches}"  # noqa: S608  # names are the model's
    with connection.cursor() as cursor:
        cursor.executemany(sql, adapted)


def _execute(model: type[Model], columns: Sequence[str], rows: Iterable[Row], tail: str) -> None:
    adapted = list(_adapt(model, columns, rows))
    if not adapted:
        return
    names = ", ".join(_column(model, name) for name in columns)
    marks = ", ".join(["%s"] * len(columns))
    sql = f"INSERT INTO {_quote(model._meta.db_table)} ({names}) VALUES ({marks}){tail}"  # noqa: S608  # names are the model's
    with connection.cursor() as cursor:
        cursor.executemany(sql, adapted)


def _adapt(model: type[Model], columns: Sequence[str], rows: Iterable[Row]) -> Iterable[Row]:
    """Give big integers the form that this database's columns have."""
    vendor = connection.vendor
    big = {
        place: field.digits
        for place, name in enumerate(columns)
        if isinstance(field := model._meta.get_field(name), UnsignedField)
    }
    if vendor == "postgresql" or not big:
        yield from rows
        return
    for row in rows:
        values = list(row)
        for place, digits in big.items():
            if values[place] is not None:
                values[place] = for_database(values[place], digits, vendor)
        yield values


def _column(model: type[Model], name: str) -> str:
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    assert field.column is not None
    return _quote(field.column)


def _quote(name: str) -> str:
    return str(connection.ops.quote_name(name))
