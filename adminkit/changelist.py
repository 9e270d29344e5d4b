"""Admin lists that are fast at any length: no count, no offset, no sort.

A page begins after a key (`next`) or ends before a key (`previous`). It reads one row more than it
shows, to find out whether more rows follow. A search is a union of branches, each answered by one index.
A selectable part of the list (`ListChoice`), and a search within that part, work the same way.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Field, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst
from typing_extensions import override

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Base = ModelAdmin[Any]
else:
    Base = object

NEXT = "next"
PREVIOUS = "previous"
SHOW = "show"
EXPORT_PAGE = 500
"""Rows of a page when the whole list is read, as for an export."""
MAX_SHOWN = 80
"""Maximum characters of the request that a message repeats."""


class ListCursor(NamedTuple):
    """A page's position: after a key or before it; without a key, the start of the list."""

    key: str | None = None
    backwards: bool = False


class ThroughTable(NamedTuple):
    """A branch through another table that refers to the listed rows and has an index in their order."""

    rows: QuerySet[Any]
    """The matching rows of the other table."""
    name: str
    """The other table's field with the keys of the listed rows."""


Branch = Q | ThroughTable


class ListChoice(NamedTuple):
    """A selectable part of a list: its name in the address, its title, and its branches."""

    name: str
    title: str
    branches: tuple[Q, ...] = (Q(),)


class Tab(NamedTuple):
    """A choice as the page shows it."""

    title: str
    url: str
    is_chosen: bool


class UnknownFilterMessages(Base):
    """A mixin for a model's admin that redirects from an unknown filter to the whole list, with a message.

    Django answers an unknown filter with a bare 400.
    """

    @override
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        try:
            answer = super().changelist_view(request, extra_context)
        except DisallowedModelAdminLookup:
            return self.refuse_filters(request)
        if isinstance(answer, HttpResponseRedirect) and answer.url.endswith(f"?{ERROR_FLAG}=1"):
            return self.refuse_filters(request)
        return answer

    def refuse_filters(self, request: HttpRequest) -> HttpResponseRedirect:
        """Redirect to the whole list with a message about the unknown filters."""
        filters = ", ".join(f"{name}={value}" for name, value in request.GET.items())[:MAX_SHOWN]
        message = f"This list has no filter “{filters}”. All rows are shown."
        if help_text := getattr(self, "search_help_text", None):
            message += f" You can search by: {help_text}."
        messages.warning(request, message)
        return HttpResponseRedirect(self.list_page())

    def list_page(self) -> str:
        """Return the address of the list."""
        opts = self.model._meta
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")


class KeysetChangeList(ChangeList):
    """The page of a `ReadOnlyModelAdmin` list, located by key."""

    model_admin: Any
    """A `ReadOnlyModelAdmin`, whose module imports this one: its type here would be a circular import."""
    cursor: ListCursor
    choice: ListChoice | None
    tabs: list[Tab]
    next_url: str | None
    previous_url: str | None
    first_url: str
    export_url: str | None

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django's title asks the user to select a row to change.
        self.title = capfirst(str(self.opts.verbose_name_plural))

    @override
    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        """Return all rows with the columns of the list; `get_results` applies the search."""
        self.cursor = self._take_cursor()
        chosen = self.filter_params.pop(SHOW, None)
        self.choice = self._find_choice()
        # Refuses every lookup: the search is the only filter.
        self.filter_specs, self.has_filters, *_, self.has_active_filters = self.get_filters(request)
        if chosen is not None:
            self.filter_params[SHOW] = chosen  # links are made from these
        self.clear_all_filters_qs = self.get_query_string()
        rows: QuerySet[Any] = self.apply_select_related(self.root_queryset)
        return rows.defer(*self.model_admin.list_defer)

    @override
    def get_results(self, request: HttpRequest) -> None:
        order, branches = self._search()
        rows = self._fetch(order, branches)
        more = len(rows) > self.list_per_page
        rows = rows[: self.list_per_page]
        if self.cursor.backwards:
            rows.reverse()
        self.model_admin.prepare(rows)
        self._set_links(rows, order.removeprefix("-"), more=more)
        self._set_template_attributes(rows)

    def iterate_pages(self) -> Iterator[list[Any]]:
        """Yield all rows of the list from its start, in larger pages, each prepared."""
        self.list_per_page = EXPORT_PAGE
        self.cursor = ListCursor()
        order, branches = self._search()
        key = order.removeprefix("-")
        while rows := self._fetch(order, branches)[:EXPORT_PAGE]:
            self.model_admin.prepare(rows)
            yield rows
            self.cursor = ListCursor(str(getattr(rows[-1], key)))

    def _search(self) -> tuple[str, list[Branch]]:
        """Return the order and the branches of the search within the chosen part of the list."""
        term = self.model_admin.read_term(self.query)
        order: str = self.model_admin.order_for(term)
        branches: list[Branch] = self.model_admin.branches(term) if self.query else [Q()]
        if self.choice is not None:
            # A list with choices cannot be searched through another table.
            branches = [
                branch & part
                for branch in branches
                if isinstance(branch, Q)
                for part in self.choice.branches
            ]
        return order, branches

    def _take_cursor(self) -> ListCursor:
        """Remove the page's position from the parameters, because links and forms repeat those."""
        cursors = {}
        for name in (NEXT, PREVIOUS):
            cursors[name] = self.params.pop(name, None)
            self.filter_params.pop(name, None)
        if cursors[NEXT] is not None:
            return ListCursor(cursors[NEXT])
        return ListCursor(cursors[PREVIOUS], backwards=cursors[PREVIOUS] is not None)

    def _find_choice(self) -> ListChoice | None:
        """Return the chosen part of the list; by default the first, and in a search `choice_of_search`."""
        choices: tuple[ListChoice, ...] = self.model_admin.get_choices()
        if not choices:
            return None
        default = self.model_admin.choice_of_search if self.query else choices[0].name
        name = self.params.get(SHOW, default)
        choice = next((candidate for candidate in choices if candidate.name == name), None)
        if choice is None:
            raise IncorrectLookupParameters(f"unknown part of the list: {name[:20]}")
        return choice

    def _fetch(self, order: str, branches: list[Branch]) -> list[Model]:
        """Return the first rows after the cursor that match any branch: those of a page, and one more."""
        limit = self.list_per_page + 1
        key = order.removeprefix("-")
        descending = order.startswith("-") != self.cursor.backwards
        if not branches:
            return []
        if len(branches) == 1 and isinstance(branches[0], Q):
            rows = self.queryset.filter(branches[0])
            return list(self._behind_cursor(rows, key, key, descending=descending)[:limit])
        # An OR over several indexes would sort all matching rows; each branch alone need not.
        keys = {
            row_key
            for branch in branches
            for row_key in self._keys(branch, key, descending=descending)[:limit]
        }
        first = sorted(keys, reverse=descending)[:limit]
        rows = self.queryset.order_by(f"-{key}" if descending else key)
        return list(rows.filter(**{f"{key}__in": first}))

    def _behind_cursor(
        self, rows: QuerySet[Any], name: str, key: str, *, descending: bool
    ) -> QuerySet[Any]:
        """Return the rows after the cursor in reading order; `name` is their field with the keys of listed rows."""
        ordered = rows.order_by(f"-{name}" if descending else name)
        if self.cursor.key is None:
            return ordered
        field = self.opts.pk if key == "pk" else self.opts.get_field(key)
        assert isinstance(field, Field)
        try:
            value = field.to_python(self.cursor.key)
        except ValidationError as error:
            raise IncorrectLookupParameters(error) from error
        return ordered.filter(**{f"{name}__{'lt' if descending else 'gt'}": value})

    def _keys(self, branch: Branch, key: str, *, descending: bool) -> QuerySet[Any, Any]:
        """Return the keys of a branch's rows after the cursor, in reading order."""
        rows, name = (
            branch if isinstance(branch, ThroughTable) else (self.queryset.filter(branch), key)
        )
        behind = self._behind_cursor(rows, name, key, descending=descending)
        return behind.values_list(name, flat=True)

    def _set_links(self, rows: list[Model], key: str, *, more: bool) -> None:
        """Set the links to the adjacent pages; the cursor's own row follows a `previous` page."""
        forwards = not self.cursor.backwards
        has_next = more if forwards else True
        has_previous = self.cursor.key is not None if forwards else more
        self.next_url = self.previous_url = None
        if rows and has_next:
            self.next_url = self.get_query_string({NEXT: str(getattr(rows[-1], key))})
        if rows and has_previous:
            self.previous_url = self.get_query_string({PREVIOUS: str(getattr(rows[0], key))})
        self.first_url = self.get_query_string()
        export = self.model_admin.export_url_name
        self.export_url = export and reverse(f"admin:{export}") + self.first_url
        self.tabs = [
            Tab(option.title, self.get_query_string({SHOW: option.name}), option == self.choice)
            for option in self.model_admin.get_choices()
        ]

    def _set_template_attributes(self, rows: list[Model]) -> None:
        """Set the attributes that Django's and the theme's templates read of a list, without counting rows."""
        self.result_list = rows
        self.result_count = len(rows)
        self.full_result_count = len(rows)  # with another number Django offers to show all
        self.show_full_result_count = False
        self.show_admin_actions = False
        self.can_show_all = False
        self.multi_page = self.next_url is not None or self.previous_url is not None
        self.paginator = Paginator(rows, self.list_per_page)
        self.page_num = 1
