"""A read-only admin for rows that consensus decides: the base class of the pages.

Lists are in `changelist`, search terms in `terms`, actions on a row in `actions`, downloads of lists in `export`.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst
from typing_extensions import override

from adminkit.actions import RowActions
from adminkit.changelist import MAX_SHOWN, Branch, KeysetChangeList, ListChoice
from adminkit.export import ExportableList
from adminkit.terms import IdentifierTerm, parse_term, read_term
from primitives.ids import ID

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin

R = TypeVar("R")


def cached_on_row(show: Callable[[Any, Any], R]) -> Callable[[Any, Any], R]:
    """Make a display method cache its result on the row, because templates call it several times."""
    name = f"_{show.__name__}_cached"

    @wraps(show)
    def cached(self: Any, row: Any) -> R:
        if name not in row.__dict__:
            row.__dict__[name] = show(self, row)
        result: R = row.__dict__[name]
        return result

    return cached


class ReadOnlyModelAdmin(ExportableList, RowActions, ThemedModelAdmin):
    """An admin that lists and shows rows quickly at any table size, and changes them only by its `row_actions`.

    A subclass sets `fieldsets` (all fields are read-only), `ordering` (one unique indexed field) and
    `search_fields` (only to make the search box appear), and overrides `branches`.
    """

    absent_because = "It never existed here, or was deleted."
    """Why a row of this list may be missing."""
    actions = None
    choice_of_search = "all"
    """The name of the choice in which a search looks, unless the request names another one."""
    choices: tuple[ListChoice, ...] = ()
    """The selectable parts of the list; the first is the default. See `get_choices`."""
    change_form_template = "admin/window_change_form.html"
    change_list_template = "admin/window_change_list.html"
    empty_value_display = "–"
    list_defer: tuple[str, ...] = ()
    """Large columns that the list does not read."""
    list_per_page = 50
    show_full_result_count = False
    sortable_by = ()
    """Empty, because a click must not sort a million rows by a column without an index."""
    unique_hash: str | None = None
    """A unique field that identifies a row's page as an alternative to its primary key."""
    found_by: str | None = None
    """The field whose value leads to the row's page in the explorer; None: `unique_hash`; empty: there is no page."""

    def is_used(self) -> bool:
        """Return whether this node's settings allow rows in this list; the menu and the index leave out other lists.

        The page itself stays, for links from elsewhere; its `empty_note` can name the setting.
        """
        return True

    @override
    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        return super().get_model_perms(request) if self.is_used() else {}

    def list_note(self) -> str:
        """Return a note above the list's first page; empty for most lists."""
        return ""

    def empty_note(self) -> str:
        """Return the reason that an empty list shows; empty for most lists."""
        return ""

    def read_term(self, text: str) -> Any:
        """Parse the text of the search box into the term that `branches` takes."""
        return parse_term(text)

    def get_choices(self) -> tuple[ListChoice, ...]:
        """Return the selectable parts of the list; the first is the default."""
        return self.choices

    @override
    def view_on_site(self, obj: Any) -> str | None:
        """Return the address of a row in the explorer; None if the explorer has no page for it."""
        field = self.unique_hash if self.found_by is None else self.found_by
        query = urlencode({"q": str(getattr(obj, field))}) if field else ""
        return f"{reverse('explorer:search')}?{query}" if field else None

    def read_hash(self, text: str) -> bytes | None:
        """Parse a value of `unique_hash` in a page's address; None if the text is not one."""
        return parse_term(text).hash

    def branches(self, term: Any) -> Sequence[Branch]:
        """Return the branches that match a term: conditions that one index each answers in list order."""
        raise NotImplementedError

    def prepare(self, rows: Sequence[Any]) -> None:
        """Read the data that a page shows besides the columns of its rows, for all rows together."""

    def order_for(self, term: Any) -> str:
        """Return the field that orders the matching rows, unique within each branch; `-` for descending."""
        return str(self.ordering[0]) if self.ordering else "-pk"

    @override
    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        branches = [
            branch for branch in self.branches(self.read_term(search_term)) if isinstance(branch, Q)
        ]
        return (
            queryset.filter(reduce(operator.or_, branches)) if branches else queryset.none()
        ), False

    @override
    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return a row by its primary key, or by its hash if `unique_hash` is set; None if it does not exist."""
        pk = self.model._meta.pk
        assert pk is not None
        where: dict[str, Any] = {}
        if self.unique_hash and (hash_value := self.read_hash(object_id)):
            where[self.unique_hash] = hash_value
        else:
            try:
                where["pk"] = pk.to_python(object_id)
            except ValidationError:
                return None
        rows = self.get_queryset(request)
        if isinstance(self.list_select_related, list | tuple):
            rows = rows.select_related(*self.list_select_related)
        row = rows.filter(**where).first()
        if row is not None:
            self.prepare([row])
        return row

    @override
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        shown = {"row_actions": self.offered_actions(request), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, shown)

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponseRedirect:
        return self.redirect_from_missing(request, object_id)

    @override
    def redirect_from_missing(self, request: HttpRequest, object_id: str) -> HttpResponseRedirect:
        """Redirect to the list with a message about the missing row.

        Django's own message says that the row may have been deleted, but users cannot delete rows here.
        """
        name = capfirst(str(self.opts.verbose_name))
        short_id = object_id if len(object_id) <= MAX_SHOWN else f"{object_id[:MAX_SHOWN]}…"
        messages.warning(request, f"{name} “{short_id}” does not exist. {self.absent_because}")
        return HttpResponseRedirect(self.list_page())

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    @override
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        # Only the first page shows the note: later pages and searches stay a single query.
        note = "" if request.GET else self.list_note()
        # The template calls `empty_note` only if the list is empty.
        notes = {"list_note": note, "empty_note": self.empty_note}
        return super().changelist_view(request, {**notes, **(extra_context or {})})

    @override
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    @override
    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return False

    @override
    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @override
    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @override
    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class IdentifierAdmin(ReadOnlyModelAdmin):
    """An admin of rows with identifiers; its `branches` takes the `IdentifierTerm` of `terms`."""

    @override
    def read_term(self, text: str) -> IdentifierTerm:
        return read_term(text)

    @override
    def read_hash(self, text: str) -> ID | None:
        return read_term(text).id
