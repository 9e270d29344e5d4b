"""SQLite's backend: statements are converted as by Django, and repeated ones only once."""

import sqlite3
from collections.abc import Iterator

import pytest
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from hypothesis import given
from hypothesis import strategies as st

from chaindb.sqlite import base
from chaindb.sqlite.base import ConvertingCursor

PIECES = st.lists(st.sampled_from(["%s", "%%", "%", "s", "'", "?", ":a", " ", "\n", "é"]))


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@given(pieces=PIECES)
def test_conversion_is_that_of_django(pieces: list[str]) -> None:
    query = "".join(pieces)
    connection = sqlite3.connect(":memory:")
    try:
        own, djangos = ConvertingCursor(connection), SQLiteCursorWrapper(connection)
        expected = djangos.convert_query(query)
        assert own.convert_query(query) == expected
        assert own.convert_query(query) == expected  # the second time it is kept
    finally:
        connection.close()


def test_executes_both_styles_of_placeholders(connection: sqlite3.Connection) -> None:
    cursor = ConvertingCursor(connection)
    assert cursor.execute("SELECT %s, '100%%'", [7]).fetchall() == [(7, "100%")]
    assert cursor.execute("SELECT %(a)s, %(b)s", {"a": 1, "b": 2}).fetchall() == [(1, 2)]
    assert cursor.execute("SELECT '%s'").fetchall() == [("%s",)]
    cursor.execute("CREATE TABLE kept (value)")
    cursor.executemany("INSERT INTO kept VALUES (%s)", [[1], [2]])
    assert cursor.execute("SELECT value FROM kept").fetchall() == [(1,), (2,)]


def test_a_repeated_statement_is_converted_once(connection: sqlite3.Connection) -> None:
    cursor = ConvertingCursor(connection)
    base._converted.cache_clear()
    for number in range(3):
        cursor.execute("SELECT %s", [number])
    assert base._converted.cache_info()[:2] == (2, 1)  # hits, misses


def test_a_long_statement_is_not_kept(connection: sqlite3.Connection) -> None:
    cursor = ConvertingCursor(connection)
    base._converted.cache_clear()
    count = base._LONGEST // len("%s, ") + 1
    row = cursor.execute(f"SELECT {', '.join(['%s'] * count)}", list(range(count))).fetchone()
    assert row == tuple(range(count))
    assert base._converted.cache_info().currsize == 0
