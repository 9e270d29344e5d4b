"""What the admin says instead of an answer: of filters that a list has not, and of rows that are not there.

Django answers the first with a bare 400, and asks of the second whether it was deleted, which nobody does here.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.views.main import ERROR_FLAG
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst
from typing_extensions import override

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Base = ModelAdmin[Any]
else:
    Base = object

MOST_SHOWN = 80
"""Characters of what was asked that are repeated."""


class ToldFilters(Base):
    """Leads to the whole list where a filter means nothing, and says which; for a model's admin."""

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
        """Lead to the whole list, with words about what was asked."""
        asked = ", ".join(f"{name}={value}" for name, value in request.GET.items())[:MOST_SHOWN]
        words = f"This list has nothing to find by “{asked}”: all of it is shown."
        if help_text := getattr(self, "search_help_text", None):
            words += f" It is searched by: {help_text}."
        messages.warning(request, words)
        return HttpResponseRedirect(self._list_page())

    def _list_page(self) -> str:
        opts = self.model._meta
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")


class ToldAbsence(ToldFilters):
    """Says why a row may not be there, beside its list; for an admin of rows that people do not delete."""

    absent_because = "It was never here, or is not kept any more."
    """Why a row of this list may be missing."""

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponseRedirect:
        return self.tell_absence(request, object_id)

    def tell_absence(self, request: HttpRequest, object_id: str) -> HttpResponseRedirect:
        """Lead to the list, with words about what is not in it."""
        name = capfirst(str(self.opts.verbose_name))
        shown = object_id if len(object_id) <= MOST_SHOWN else f"{object_id[:MOST_SHOWN]}…"
        messages.warning(request, f"{name} “{shown}” is not there. {self.absent_because}")
        return HttpResponseRedirect(self._list_page())
