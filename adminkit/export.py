"""Downloads of whole lists of the admin as CSV files."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from typing_extensions import override

from adminkit.changelist import KeysetChangeList, UnknownFilterMessages

Cells = Sequence[object]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full-width forms too


class ExportableList(UnknownFilterMessages):
    """A mixin for a `ReadOnlyModelAdmin` whose list can be downloaded, if it has `export_headings`."""

    export_headings: tuple[str, ...] = ()
    """The columns of the CSV export; empty for a list without an export. `export_cells` fills them."""

    def export_cells(self, row: Any) -> Cells:
        """Return a prepared row as cells of the CSV file. Lists with `export_headings` override this."""
        raise NotImplementedError

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return all pages of the list as a CSV file.

        Raises:
            PermissionDenied: The user may not view the rows.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            listed = self.get_changelist_instance(request)
        except (DisallowedModelAdminLookup, IncorrectLookupParameters):
            return self.refuse_filters(request)
        assert isinstance(listed, KeysetChangeList)
        pages = (map(self.export_cells, page) for page in listed.iterate_pages())
        return csv_response(f"{self.opts.model_name}s.csv", self.export_headings, pages)

    @property
    def export_url_name(self) -> str | None:
        """The URL name of the export; None for a list without an export."""
        if not self.export_headings:
            return None
        return f"{self.opts.app_label}_{self.opts.model_name}_export"

    @override
    def get_urls(self) -> list[URLPattern]:
        urls: list[URLPattern] = super().get_urls()
        if (name := self.export_url_name) is None:
            return urls
        return [path("export/", self.admin_site.admin_view(self.export_view), name=name), *urls]


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


def csv_lines(rows: Iterable[Cells]) -> bytes:
    """Return rows as lines of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


async def _stream(
    headings: Sequence[str], pages: Iterator[Iterable[Cells]]
) -> AsyncIterator[bytes]:
    yield csv_lines([headings])
    while (page := await sync_to_async(_next_lines)(pages)) is not None:
        yield page


def _next_lines(pages: Iterator[Iterable[Cells]]) -> bytes | None:
    page = next(pages, None)
    return None if page is None else csv_lines(page)
