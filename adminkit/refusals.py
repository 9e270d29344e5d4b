"""Messages of the admin for filters that a list lacks, and for rows that do not exist.

Django answers an unknown filter with a bare 400, and for a missing row it suggests that it may have
been deleted, although users cannot delete rows here.
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

MAX_SHOWN = 80
"""Maximum characters of the request that a message repeats."""


class UnknownFilterMessages(Base):
    """A mixin for a model's admin that redirects from an unknown filter to the whole list, with a message."""

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
        return HttpResponseRedirect(self._list_page())

    def _list_page(self) -> str:
        opts = self.model._meta
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")


class MissingRowMessages(UnknownFilterMessages):
    """A mixin for rows that users do not delete: redirects from a missing row to the list, with the reason."""

    absent_because = "It never existed here, or was deleted."
    """Why a row of this list may be missing."""

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponseRedirect:
        return self.redirect_from_missing(request, object_id)

    def redirect_from_missing(self, request: HttpRequest, object_id: str) -> HttpResponseRedirect:
        """Redirect to the list with a message about the missing row."""
        name = capfirst(str(self.opts.verbose_name))
        short_id = object_id if len(object_id) <= MAX_SHOWN else f"{object_id[:MAX_SHOWN]}…"
        messages.warning(request, f"{name} “{short_id}” does not exist. {self.absent_because}")
        return HttpResponseRedirect(self._list_page())
