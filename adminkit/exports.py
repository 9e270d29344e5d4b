"""Tables as streamed CSV files: only one page of rows is in memory at a time.

Cells that a spreadsheet would run as a formula are turned into text.
"""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

Cells = Sequence[object]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full-width forms too


def csv_response(
    name: str, headings: Sequence[str], pages: Iterator[Iterable[Cells]]
) -> StreamingHttpResponse:
    """Return a download; each of `pages` is read after the previous pages were sent."""
    answer = StreamingHttpResponse(_stream(headings, pages), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer


def safe_cell(value: object) -> str:
    """Return a cell's text, with an apostrophe before a would-be formula; an empty text for None."""
    text = "" if value is None else str(value)
    risky = text.startswith(_FORMULA) and not isinstance(value, int)
    return f"'{text}" if risky else text


async def _stream(
    headings: Sequence[str], pages: Iterator[Iterable[Cells]]
) -> AsyncIterator[bytes]:
    yield _lines([headings])
    while (page := await sync_to_async(_next_lines)(pages)) is not None:
        yield page


def _next_lines(pages: Iterator[Iterable[Cells]]) -> bytes | None:
    page = next(pages, None)
    return None if page is None else _lines(page)


def _lines(rows: Iterable[Cells]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()
