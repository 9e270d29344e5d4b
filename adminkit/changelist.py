"""Lists of the admin that are fast at any length: no count, no offset, no sort.

A page begins behind a key (`next`) or ends before one (`previous`), and reads one row more than it
shows to know whether there are others. A search is a union of branches; each is answered by one index.
So is a part of the list that a person chooses (`Choice`), and a search within that part.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Field, Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from typing_extensions import override

NEXT = "next"
PREVIOUS = "previous"
SHOW = "show"
WALKED = 500
"""Rows of a page where nobody looks at single ones."""


class Cursor(NamedTuple):
    """Where a page is: behind a key or before it; without one, at the start of the list."""

    key: str | None = None
    backwards: bool = False


class Elsewhere(NamedTuple):
    """A branch through another table: the rows whose keys stand there, in the order of its index."""

    rows: QuerySet[Any]
    name: str
    """The field that holds keys of the listed rows."""


Branch = Q | Elsewhere


class Choice(NamedTuple):
    """A part of a list that can be chosen: its name in the address, its title, and its branches."""

    name: str
    title: str
    branches: tuple[Q, ...] = (Q(),)


class Tab(NamedTuple):
    """A choice as the page offers it."""

    title: str
    url: str
    is_chosen: bool


class KeysetChangeList(ChangeList):
    """The page of a `ReadOnlyModelAdmin` list, found by key."""

    model_admin: Any
    """A `ReadOnlyModelAdmin`, which knows this class: naming its type here would close a circle."""
    cursor: Cursor
    choice: Choice | None
    tabs: list[Tab]
    next_url: str | None
    previous_url: str | None
    first_url: str
    export_url: str | None

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
        chosen = self.filter_params.pop(SHOW, None)
        self.choice = self._find_choice()
        # Refuses every lookup: what may be asked goes through the search.
        self.filter_specs, self.has_filters, *_, self.has_active_filters = self.get_filters(request)
        if chosen is not None:
            self.filter_params[SHOW] = chosen  # from which links are made
        self.clear_all_filters_qs = self.get_query_string()
        rows: QuerySet[Any] = self.apply_select_related(self.root_queryset)
        return rows.defer(*self.model_admin.list_defer)

    @override
    def get_results(self, request: HttpRequest) -> None:
        order, branches = self._asked()
        found = self._fetch(order, branches)
        more = len(found) > self.list_per_page
        found = found[: self.list_per_page]
        if self.cursor.backwards:
            found.reverse()
        self.model_admin.prepare(found)
        self._set_links(found, order.removeprefix("-"), more=more)
        self._set_what_templates_ask(found)

    def walk(self) -> Iterator[list[Any]]:
        """Yield all that the list shows, from its start, in larger pages; each is prepared."""
        self.list_per_page = WALKED
        self.cursor = Cursor()
        order, branches = self._asked()
        key = order.removeprefix("-")
        while found := self._fetch(order, branches)[:WALKED]:
            self.model_admin.prepare(found)
            yield found
            self.cursor = Cursor(str(getattr(found[-1], key)))

    def _asked(self) -> tuple[str, list[Branch]]:
        """Return the order and the branches of what is searched for in the chosen part of the list."""
        term = self.model_admin.read_term(self.query)
        order: str = self.model_admin.order_for(term)
        branches: list[Branch] = self.model_admin.branches(term) if self.query else [Q()]
        if self.choice is not None:
            # What another table knows of is no part of a list that has parts.
            branches = [
                branch & part
                for branch in branches
                if isinstance(branch, Q)
                for part in self.choice.branches
            ]
        return order, branches

    def _take_cursor(self) -> Cursor:
        """Take the page's place out of the parameters, since links and forms repeat those."""
        taken = {}
        for name in (NEXT, PREVIOUS):
            taken[name] = self.params.pop(name, None)
            self.filter_params.pop(name, None)
        if taken[NEXT] is not None:
            return Cursor(taken[NEXT])
        return Cursor(taken[PREVIOUS], backwards=taken[PREVIOUS] is not None)

    def _find_choice(self) -> Choice | None:
        """Return the chosen part of the list: the first when none is, all of it in a search."""
        choices: tuple[Choice, ...] = self.model_admin.choices
        if not choices:
            return None
        default = self.model_admin.choice_of_search if self.query else choices[0].name
        name = self.params.get(SHOW, default)
        choice = next((one for one in choices if one.name == name), None)
        if choice is None:
            raise IncorrectLookupParameters(f"no part of the list: {name[:20]}")
        return choice

    def _fetch(self, order: str, branches: list[Branch]) -> list[Model]:
        """Return the first rows behind the cursor of all branches together: a page and one more."""
        most = self.list_per_page + 1
        key = order.removeprefix("-")
        descending = order.startswith("-") != self.cursor.backwards
        if not branches:
            return []
        if len(branches) == 1 and isinstance(branches[0], Q):
            rows = self.queryset.filter(branches[0])
            return list(self._behind_cursor(rows, key, key, descending=descending)[:most])
        # An OR over several indexes would sort everything that matches; each branch alone need not.
        keys = {
            found
            for branch in branches
            for found in self._keys(branch, key, descending=descending)[:most]
        }
        first = sorted(keys, reverse=descending)[:most]
        listed = self.queryset.order_by(f"-{key}" if descending else key)
        return list(listed.filter(**{f"{key}__in": first}))

    def _behind_cursor(
        self, rows: QuerySet[Any], name: str, key: str, *, descending: bool
    ) -> QuerySet[Any]:
        """Return rows behind the cursor in reading order; their `name` has keys of listed rows."""
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
        """Return the keys of the rows in a branch, behind the cursor and in reading order."""
        rows, name = (
            branch if isinstance(branch, Elsewhere) else (self.queryset.filter(branch), key)
        )
        behind = self._behind_cursor(rows, name, key, descending=descending)
        return behind.values_list(name, flat=True)

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
        export = self.model_admin.export_url_name
        self.export_url = export and reverse(f"admin:{export}") + self.first_url
        self.tabs = [
            Tab(one.title, self.get_query_string({SHOW: one.name}), one == self.choice)
            for one in self.model_admin.choices
        ]

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
