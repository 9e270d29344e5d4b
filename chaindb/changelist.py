"""Lists of the admin that are fast at any length: no count, no offset, no sort.

A page begins behind a key (`next`) or ends before one (`previous`), and reads one row more than it
shows to know whether there are others. A search is a union of lanes; each is answered by one index.
"""

from typing import Any, NamedTuple

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from typing_extensions import override

from chaindb.terms import parse_term

NEXT = "next"
PREVIOUS = "previous"


class Cursor(NamedTuple):
    """Where a page is: behind a key or before it; without one, at the start of the list."""

    key: str | None = None
    backwards: bool = False


class KeysetChangeList(ChangeList):
    """The page of a `ReadOnlyModelAdmin` list, found by key."""

    model_admin: Any
    """A `ReadOnlyModelAdmin`, which knows this class: naming its type here would close a circle."""
    cursor: Cursor
    next_url: str | None
    previous_url: str | None
    first_url: str

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = capfirst(str(self.opts.verbose_name_plural))  # there is nothing to select

    @override
    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        """Return all rows as a list shows them; the search comes in `get_results`."""
        self.cursor = self._take_cursor()
        # Refuses every lookup: what may be asked goes through the search.
        self.filter_specs, self.has_filters, *_, self.has_active_filters = self.get_filters(request)
        self.clear_all_filters_qs = self.get_query_string()
        rows: QuerySet[Any] = self.apply_select_related(self.root_queryset)
        return rows.defer(*self.model_admin.list_defer)

    @override
    def get_results(self, request: HttpRequest) -> None:
        term = parse_term(self.query)
        order = self.model_admin.order_for(term)
        lanes = self.model_admin.lanes(term) if self.query else [Q()]
        found = self._fetch(self._behind_cursor(order), lanes, order.removeprefix("-"))
        more = len(found) > self.list_per_page
        found = found[: self.list_per_page]
        if self.cursor.backwards:
            found.reverse()
        self._set_links(found, order.removeprefix("-"), more=more)
        self._set_what_templates_ask(found)

    def _take_cursor(self) -> Cursor:
        """Take the page's place out of the parameters, since links and forms repeat those."""
        taken = {}
        for name in (NEXT, PREVIOUS):
            taken[name] = self.params.pop(name, None)
            self.filter_params.pop(name, None)
        if taken[NEXT] is not None:
            return Cursor(taken[NEXT])
        return Cursor(taken[PREVIOUS], backwards=taken[PREVIOUS] is not None)

    def _behind_cursor(self, order: str) -> QuerySet[Any]:
        """Return the rows behind the cursor in reading order, which is against it for `previous`."""
        name = order.removeprefix("-")
        descending = order.startswith("-") != self.cursor.backwards
        rows: QuerySet[Any] = self.queryset.order_by(f"-{name}" if descending else name)
        if self.cursor.key is None:
            return rows
        field = self.opts.pk if name == "pk" else self.opts.get_field(name)
        try:
            key = field.to_python(self.cursor.key)  # type: ignore[union-attr]  # a concrete field
        except ValidationError as error:
            raise IncorrectLookupParameters(error) from error
        return rows.filter(**{f"{name}__{'lt' if descending else 'gt'}": key})

    def _fetch(self, rows: QuerySet[Any], lanes: list[Q], key: str) -> list[Model]:
        """Return the first rows of all lanes together: a page and one more."""
        most = self.list_per_page + 1
        if not lanes:
            return []
        if len(lanes) == 1:
            return list(rows.filter(lanes[0])[:most])
        # An OR over several indexes would sort everything that matches; each lane alone need not.
        keys = {
            value
            for lane in lanes
            for value in rows.filter(lane).values_list(key, flat=True)[:most]
        }
        descending = str(rows.query.order_by[0]).startswith("-")
        first = sorted(keys, reverse=descending)[:most]
        return list(rows.filter(**{f"{key}__in": first}))

    def _set_links(self, found: list[Model], key: str, *, more: bool) -> None:
        """Set the links to the pages around; the cursor's own row lies behind a `previous` page."""
        forwards = not self.cursor.backwards
        has_next = more if forwards else True
        has_previous = self.cursor.key is not None if forwards else more
        self.next_url = self.previous_url = None
        if found and has_next:
            self.next_url = self.get_query_string({NEXT: str(getattr(found[-1], key))})
        if found and has_previous:
            self.previous_url = self.get_query_string({PREVIOUS: str(getattr(found[0], key))})
        self.first_url = self.get_query_string()

    def _set_what_templates_ask(self, found: list[Model]) -> None:
        """Set what Django's and the theme's templates read of a list; none of it counts rows."""
        self.result_list = found
        self.result_count = len(found)
        self.full_result_count = len(found)  # another number would become an offer to show all
        self.show_full_result_count = False
        self.show_admin_actions = False
        self.can_show_all = False
        self.multi_page = self.next_url is not None or self.previous_url is not None
        self.paginator = Paginator(found, self.list_per_page)
        self.page_num = 1
