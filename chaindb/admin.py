"""Admin for rows that consensus decides: a window, not a workshop (style.md 2.8).

`changelist` has the lists' paging, `terms` what a search box takes.
"""

import operator
from collections.abc import Callable
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from typing_extensions import override

from chaindb.changelist import KeysetChangeList
from chaindb.terms import Term, parse_term

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin


R = TypeVar("R")


def asked_once(show: Callable[[Any, Any], R]) -> Callable[[Any, Any], R]:
    """Make a display method keep its answer with the row: templates ask for it several times."""
    name = f"_{show.__name__}_shown"

    @wraps(show)
    def ask(self: Any, row: Any) -> R:
        if name not in row.__dict__:
            row.__dict__[name] = show(self, row)
        kept: R = row.__dict__[name]
        return kept

    return ask


class ReadOnlyModelAdmin(ThemedModelAdmin):
    """Lists and shows rows fast at any size; changes none, whoever asks.

    A subclass sets `fieldsets` (all of it is read-only), `ordering` (one unique indexed field) and
    `search_fields` (only so that the box is shown), and overrides `lanes`.
    """

    actions = None
    change_form_template = "admin/window_change_form.html"
    change_list_template = "admin/window_change_list.html"
    empty_value_display = "–"
    list_defer: tuple[str, ...] = ()
    """Large columns that the list does not read."""
    list_per_page = 50
    show_full_result_count = False
    sortable_by = ()
    """A click must not sort a million rows by a column without index."""
    unique_hash: str | None = None
    """The unique field by which a row's page is found too, besides its key."""
    view_on_site = False

    def lanes(self, term: Term) -> list[Q]:
        """Return what matches a term: conditions that one index each answers in list order."""
        raise NotImplementedError

    def order_for(self, term: Term) -> str:
        """Return the field that orders what matches, unique within each lane; `-` for descending."""
        return str(self.ordering[0]) if self.ordering else "-pk"

    @override
    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        lanes = self.lanes(parse_term(search_term))
        return (queryset.filter(reduce(operator.or_, lanes)) if lanes else queryset.none()), False

    @override
    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return a row by its key, or by its hash where `unique_hash` names one; None without."""
        pk = self.model._meta.pk
        assert pk is not None
        where: dict[str, Any] = {}
        if self.unique_hash and (wanted := parse_term(object_id).hash):
            where[self.unique_hash] = wanted
        else:
            try:
                where["pk"] = pk.to_python(object_id)
            except ValidationError:
                return None
        rows = self.get_queryset(request)
        if isinstance(self.list_select_related, list | tuple):
            rows = rows.select_related(*self.list_select_related)
        return rows.filter(**where).first()

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return flatten_fieldsets(self.get_fieldsets(request, obj))

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
