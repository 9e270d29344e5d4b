"""Answers with lists as CSV files.

A file begins where the page of the list begins (`?before=`), and continues with older rows up to a limit of rows and of
bytes. If there are more rows, the header `Link` has the address of the next file, as in RFC 8288.

Unspecified: files are bounded and sent as one answer instead of streamed without end, because a download that is produced
while it is read keeps a thread for pages from all other visitors.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, Final, NamedTuple, ParamSpec
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from adminkit.export import Cells, csv_lines
from adminkit.formats import format_units
from explorer_app.site import Explorer
from explorer_app.views.page import Shown, View, cchain_page, page, read_number, xchain_page

MAX_ROWS: Final = 5_000
MAX_BYTES: Final = 900_000
"""Limits of a file. Pages up to 1 MiB are sent without keeping a thread (`nodeproject.web.concurrency`)."""
AT_ONCE: Final = 250
"""Rows that are read together."""
MAX_PARTS: Final = 40
"""Limit of the queries for a file: a query may examine many rows and return few."""


P = ParamSpec("P")


class CsvPart(NamedTuple):
    """Some rows of a list, and where it continues."""

    rows: Sequence[tuple[int, Cells]]
    """Keys and cells; a file that ends after a row continues before its key."""
    next_key: int | None
    """The key before which the list continues; None at its end."""


class CsvList(NamedTuple):
    """A list as a CSV file."""

    name: str
    """The name of the file without its suffix."""
    headings: Sequence[str]
    read: Callable[[int | None, int], CsvPart]
    """Returns at most so many rows before a key."""


def _download(
    make: Callable[Concatenate[Explorer, HttpRequest, P], CsvList],
) -> Shown[P]:
    """Make a view of a function that returns a list."""

    @wraps(make)
    def show(
        site: Explorer, request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        wanted = make(site, request, *args, **kwargs)
        body, next_key = _file(wanted, read_number(request.GET.get("before")))
        response = HttpResponse(body, content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{wanted.name}.csv"'
        response["Cache-Control"] = "no-store"
        if next_key is not None:
            query = urlencode({**request.GET.dict(), "before": next_key})
            response["Link"] = f'<?{query}>; rel="next"'
        return response

    return show


def _file(wanted: CsvList, before: int | None) -> tuple[bytes, int | None]:
    """Return a file, and the key before which the list continues, if it does."""
    lines = [csv_lines([wanted.headings])]
    size, next_key = len(lines[0]), before
    for _ in range(MAX_PARTS):
        part = wanted.read(next_key, AT_ONCE)
        for key, cells in part.rows:
            line = csv_lines([cells])
            if size + len(line) > MAX_BYTES or len(lines) > MAX_ROWS:
                return b"".join(lines), next_key
            lines.append(line)
            size, next_key = size + len(line), key
        next_key = part.next_key
        if next_key is None:
            break
    return b"".join(lines), next_key


def units(amount: int, unit: int) -> str:
    """Return an amount as an exact decimal number that programs read: without separators of thousands."""
    return format_units(amount, unit).replace(",", "")


def of_cchain(make: Callable[Concatenate[Explorer, HttpRequest, P], CsvList]) -> View:
    """Make a view of a function that returns a list of the C-Chain."""
    return cchain_page(_download(make))


def of_node(make: Callable[Concatenate[Explorer, HttpRequest, P], CsvList]) -> View:
    """Make a view of a function that returns a list of the P-Chain."""
    return page(_download(make))


def of_xchain(make: Callable[Concatenate[Explorer, HttpRequest, P], CsvList]) -> View:
    """Make a view of a function that returns a list of the X-Chain."""
    return xchain_page(_download(make))


def listed(rows: Sequence[tuple[int, Cells]], count: int) -> CsvPart:
    """Return rows of a list that ends if there are fewer than requested."""
    return CsvPart(rows, rows[-1][0] if len(rows) == count else None)
