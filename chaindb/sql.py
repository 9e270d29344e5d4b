"""Plain SQL for the few questions that every block and every submission asks.

Building a query of the ORM costs several times what the database takes to answer it by key.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection

Rows = list[tuple[Any, ...]]

_MOST_KEYS = 500
"""Keys in one statement; databases have a limit, and plans for more are no better."""


def rows(sql: str, params: Sequence[Any] = ()) -> Rows:
    """Return all rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: Rows = cursor.fetchall()
        return found


def row(sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row of a query, or None."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found


def execute(sql: str, params: Sequence[Any] = ()) -> None:
    """Run a statement that answers nothing."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def rows_by_keys(sql: str, keys: Sequence[Any], before: Sequence[Any] = ()) -> Rows:
    """Return the rows of a query for many keys; `{keys}` in it stands for their list.

    The values of `before` belong to the marks in front of it.
    """
    found: Rows = []
    for start in range(0, len(keys), _MOST_KEYS):
        part = keys[start : start + _MOST_KEYS]
        marked = sql.replace("{keys}", ", ".join(["%s"] * len(part)))
        found += rows(marked, [*before, *part])
    return found
