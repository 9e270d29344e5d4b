"""Rows packed into one statement are stored by SQLite exactly like rows bound one by one."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaindb import packed

_HEAD = "INSERT INTO written (id, number, flag, content, text)"
_PACKS = (packed.integers, packed.integers, packed.integers, packed.blobs, packed.texts)
_TABLE = """
CREATE TABLE written (id integer PRIMARY KEY, number bigint, flag bool, content BLOB, text varchar(9))
"""

numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
contents = st.none() | st.binary(max_size=70)
words = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
columns = (
    numbers,
    st.none() | st.booleans(),
    contents | st.just(b"") | st.binary(min_size=32, max_size=32),
    words,
)


@st.composite
def some_rows(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Draw rows whose columns have values of several types, of one type, or a single value."""
    count = draw(st.integers(1, 12))
    first = draw(st.integers(-(2**62), 2**62))
    is_rising = draw(st.booleans())
    ids = range(first, first + count) if is_rising else range(first, first + 3 * count, 3)
    drawn = []
    for values in columns:
        kind = draw(st.sampled_from(["all", "one"]))
        drawn.append(
            draw(st.lists(values, min_size=count, max_size=count))
            if kind == "all"
            else [draw(values)] * count
        )
    return list(zip(ids, *drawn, strict=True))


def written(rows: Sequence[Sequence[Any]], *, is_packed: bool, tail: str = "") -> list[Any]:
    """Return rows and the types of their values as SQLite stores them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(_TABLE)
        if is_packed:
            sql, given = packed.packed(_HEAD, tail, _PACKS, rows)
            connection.execute(sql.replace("%s", "?"), given)
        else:
            connection.executemany(f"{_HEAD} VALUES (?, ?, ?, ?, ?) {tail}", rows)
        return connection.execute(
            "SELECT *, typeof(number), typeof(flag), typeof(content), typeof(text)"
            " FROM written ORDER BY id"
        ).fetchall()


@given(some_rows())
@example([(1, 2, True, None, None), (2, 3, False, b"", "")])
def test_packed_rows_equal_rows_bound_separately(rows: list[tuple[Any, ...]]) -> None:
    assert written(rows, is_packed=True) == written(rows, is_packed=False)


@given(some_rows(), st.data())
def test_last_of_several_rows_with_one_key_counts(
    rows: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    again = [(data.draw(st.sampled_from(rows))[0], *row[1:]) for row in rows]
    tail = (
        "ON CONFLICT (id) DO UPDATE SET number = excluded.number, flag = excluded.flag,"
        " content = excluded.content, text = excluded.text"
    )
    for_all = [*rows, *again]
    assert written(for_all, is_packed=True, tail=tail) == written(
        for_all, is_packed=False, tail=tail
    )


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_other_types_are_bytes(kind: Any) -> None:
    rows = [(number, 1, True, kind(bytes([number])), "a") for number in range(3)]
    assert [row[3] for row in written(rows, is_packed=True)] == [b"\x00", b"\x01", b"\x02"]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_number_of_more_than_64_bits_is_refused(number: int) -> None:
    with pytest.raises(OverflowError, match=r"^an integer needs more than 64 bits$"):
        packed.integers([1, number])


@pytest.mark.parametrize("number", [1.5, "1", b"1"])
def test_non_integer_is_refused(number: Any) -> None:
    with pytest.raises(TypeError, match="integer"):
        packed.integers([1, number])


def test_rows_of_one_shape_share_their_statement() -> None:
    first = [(number, number * 7, True, bytes([number]) * 3, "ab") for number in range(9)]
    second = [(number, 11 - number, False, bytes([number]) * 30, "cd") for number in range(60)]
    statements = {packed.packed(_HEAD, "", _PACKS, rows)[0] for rows in (first, second)}
    (statement,) = statements
    assert statement.startswith("INSERT INTO written ")  # metrics count it by its first word


def test_rows_keep_their_order() -> None:
    rows = [(None, number * 7 % 60, True, b"", "") for number in range(60)]
    assert [row[1] for row in written(rows, is_packed=True)] == [row[1] for row in rows]
