"""What people may do from the admin, to a row or to the node: asked about once more, and logged.

What is done is a service's; here is who may, the question, and the entry in the admin's log.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import Error as DatabaseFault
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from typing_extensions import override

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Base = ModelAdmin[Any]
else:
    Base = object

_log: Final = logging.getLogger(__name__)


class Refused(Exception):
    """A deed was not done, and nothing has changed; the message says why."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that can be done to a thing."""

    name: str
    """In its address."""
    button: str
    question: str
    consequence: str
    permission: str
    """Of whoever may do it: `app.codename`. Superusers have all."""
    do: Callable[[Any], str]
    """Does it, and returns what was done as a sentence. Raises `Refused`."""
    obstacle: Callable[[Any], str] = lambda _: ""
    """Returns why it cannot be done now; nothing if it can."""
    flag: int = CHANGE
    """What the log's entry is: a change or a deletion."""


@dataclass(frozen=True, slots=True)
class Target:
    """What something is done to."""

    thing: Any
    title: str
    """Its name in the log."""
    facts: Sequence[tuple[str, object]]
    """What it is, for who is asked."""
    page: str
    """Where one goes who cancels."""
    after: str
    """Where one goes when it is done."""
    key: str = ""
    model: type[Model] | None = None


def may(request: HttpRequest, deed: Deed) -> bool:
    """Say whether somebody has the right to a deed."""
    return isinstance(request.user, User) and request.user.has_perm(deed.permission)


def ask(request: HttpRequest, deed: Deed, target: Target) -> HttpResponse:
    """Ask whether it is to be done, or why it cannot be; do it when that was confirmed.

    Raises:
        PermissionDenied: Somebody has no right to it.
    """
    if not may(request, deed):
        raise PermissionDenied
    if request.method == "POST":
        return _do(request, deed, target)
    context = {
        **admin.site.each_context(request),
        "title": deed.button,
        "deed": deed,
        "target": target,
        "obstacle": deed.obstacle(target.thing),
    }
    return TemplateResponse(request, "admin/deed_confirm.html", context)


def _do(request: HttpRequest, deed: Deed, target: Target) -> HttpResponse:
    try:
        words = _attempt(deed, target.thing)
    except Refused as error:
        messages.error(request, f"Not done: {error}")
        return HttpResponseRedirect(target.page)
    note(request, deed.flag, target.title, words, key=target.key, model=target.model)
    messages.success(request, words)
    return HttpResponseRedirect(target.after)


def note(
    request: HttpRequest,
    flag: int,
    title: str,
    words: str,
    *,
    key: str,
    model: type[Model] | None = None,
) -> None:
    """Write down what somebody did: in the log, and as an entry in the database.

    It is done whether or not there can be an entry: where the database refuses one, the log has both, and
    whoever did it is told.

    Args:
        request: its user did it.
        flag: what the entry is: an addition, a change or a deletion.
        title: the name of what it was done to.
        words: what was done, as a sentence.
        key: of what it was done to; empty where it has none.
        model: of the row that it was done to, if it was one.
    """
    assert isinstance(request.user, User)
    _log.warning("%s: %s (by %s, in the admin)", title, words, request.user.get_username())
    try:
        LogEntry.objects.create(
            user=request.user,
            content_type=None if model is None else ContentType.objects.get_for_model(model),
            object_id=key,
            object_repr=title[:200],
            action_flag=flag,
            change_message=words,
        )
    except DatabaseFault:
        _log.exception("%s: there is no entry of what was done", title)
        messages.warning(request, "The database took no entry of it: only the log tells of it.")


def _attempt(deed: Deed, thing: Any) -> str:
    """Do it, unless something stands in its way, which may have come since the page was drawn."""
    if obstacle := deed.obstacle(thing):
        raise Refused(obstacle)
    return deed.do(thing)


class RowDeeds(Base):
    """Offers on a row's page what can be done to it; for a model's admin."""

    deeds: tuple[Deed, ...] = ()

    def deed_facts(self, row: Any) -> Sequence[tuple[str, object]]:
        """Return what a row is, for who is asked."""
        return ((str(self.opts.verbose_name).capitalize(), str(row)),)

    def tell_absence(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say that a row is not there."""
        raise NotImplementedError

    def after_deed(self, row: Any) -> str:
        """Return where one goes when something was done: a row's page, or the list where it is gone."""
        return self._row_page(row)

    @override
    def get_urls(self) -> list[URLPattern]:
        urls: list[URLPattern] = super().get_urls()
        if not self.deeds:
            return urls
        asked = path(
            "<path:object_id>/do/<str:name>/",
            self.admin_site.admin_view(self.deed_view),
            name=f"{self.opts.app_label}_{self.opts.model_name}_deed",
        )
        return [asked, *urls]

    def deed_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask about a deed, or do it.

        Raises:
            Http404: There is no such deed.
            PermissionDenied: Somebody has no right to it, or none to see the rows; whether there is such
                a row is told to neither.
        """
        deed = next((one for one in self.deeds if one.name == name), None)
        if deed is None:
            raise Http404
        # The question shows the row.
        if not (may(request, deed) and self.has_view_permission(request)):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None:
            return self.tell_absence(request, object_id)
        target = Target(
            row,
            f"{self.opts.verbose_name} {row}",
            self.deed_facts(row),
            self._row_page(row),
            self.after_deed(row),
            str(row.pk),
            self.model,
        )
        return ask(request, deed, target)

    @override
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        offered = [one for one in self.deeds if may(request, one)]
        return super().change_view(
            request, object_id, form_url, {"deeds": offered, **(extra_context or {})}
        )

    def _row_page(self, row: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row.pk])
