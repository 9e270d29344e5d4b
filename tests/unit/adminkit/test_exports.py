"""CSV exports of tables are streamed page by page and contain no formulas that would run."""

import csv
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.export import csv_response, safe_cell


async def _parts(answer: Any) -> list[bytes]:
    content: AsyncIterator[bytes] = answer.streaming_content
    return [part async for part in content]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")', "＝1", "＠x"],
)
def test_a_formula_becomes_text(text: str) -> None:
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0, "0"), (-5, "-5"), (2**64, str(2**64)), ("NodeID-x", "NodeID-x"), ("", "")],
)
def test_harmless_cells_are_unchanged(value: object, text: str) -> None:
    assert safe_cell(value) == text


@given(st.text())
def test_exported_cell_never_starts_like_a_formula(text: str) -> None:
    assert not safe_cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


async def test_a_file_is_streamed_page_by_page() -> None:
    read = []

    def pages() -> Iterator[list[tuple[object, ...]]]:
        for number in range(3):
            read.append(number)
            yield [(number, f"a,{number}"), (None, 'say "x"')]

    answer = csv_response("file.csv", ("number", "text"), pages())
    assert read == []
    assert answer["Content-Disposition"] == 'attachment; filename="file.csv"'
    parts = await _parts(answer)
    assert len(parts) == 4
    rows = list(csv.reader(io.StringIO(b"".join(parts).decode(), newline="")))
    assert rows == [
        ["number", "text"],
        *[row for number in range(3) for row in ([str(number), f"a,{number}"], ["", 'say "x"'])],
    ]


async def test_a_page_is_read_only_when_the_one_before_is_on_its_way() -> None:
    read = []

    def pages() -> Iterator[list[tuple[int]]]:
        for number in range(3):
            read.append(number)
            yield [(number,)]

    content: Any = csv_response("file.csv", ("number",), pages()).streaming_content
    assert await anext(content) == b"number\r\n"
    assert read == []
    assert await anext(content) == b"0\r\n"
    assert read == [0]
