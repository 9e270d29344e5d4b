"""Actions in the admin on a row or on the node, each confirmed and logged.

A service performs the action; this module checks the permission, asks for confirmation and logs the action.
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
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from typing_extensions import override

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Base = ModelAdmin[Any]
else:
    Base = object

_log: Final = logging.getLogger(__name__)


class ActionRefused(Exception):
    """An action was refused and nothing has changed; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ActionEffect:
    """The effect of an action on a row or on the node."""

    sentence: str
    """Describes the action, for the log too."""
    details: str = ""
    """The state afterwards, with its numbers; a sentence for the user."""
    links: Sequence[tuple[str, str]] = ()
    """Titles and addresses of pages that show the effect."""

    def message(self) -> SafeString:
        """Return the effect as HTML."""
        text = f"{self.sentence} {self.details}".rstrip()
        links = format_html_join(
            " ",
            '<a class="underline" href="{}">{}</a>',
            ((page, title) for title, page in self.links),
        )
        return format_html("{} {}", text, links) if self.links else format_html("{}", text)


@dataclass(frozen=True, slots=True)
class AdminAction:
    """An action on a row or on the node."""

    name: str
    """Its name in the address."""
    button: str
    question: str
    consequence: str
    permission: str
    """The permission that the action requires: `app.codename`. Superusers have all permissions."""
    do: Callable[[Any], ActionEffect]
    """Performs the action and returns its effect. Raises `ActionRefused`."""
    obstacle: Callable[[Any], str] = lambda _: ""
    """Returns the reason why the action is impossible now, or an empty string if it is possible."""
    flag: int = CHANGE
    """The kind of the log entry: a change or a deletion."""


@dataclass(frozen=True, slots=True)
class ActionTarget:
    """The target of an action."""

    subject: Any
    title: str
    """Its name in the log."""
    details: Sequence[tuple[str, object]]
    """Labelled properties of the target, shown in the confirmation."""
    page: str
    """The page after a cancellation."""
    after: str
    """The page after the action."""
    key: str = ""
    model: type[Model] | None = None


def may(request: HttpRequest, action: AdminAction) -> bool:
    """Return whether the user has the permission for an action."""
    return isinstance(request.user, User) and request.user.has_perm(action.permission)


def ask(request: HttpRequest, action: AdminAction, target: ActionTarget) -> HttpResponse:
    """Ask for confirmation of an action or show why it is impossible; perform it once it is confirmed.

    Raises:
        PermissionDenied: The user lacks the permission.
    """
    if not may(request, action):
        raise PermissionDenied
    if request.method == "POST":
        return _do(request, action, target)
    context = {
        **admin.site.each_context(request),
        "title": action.button,
        "action": action,
        "target": target,
        "obstacle": action.obstacle(target.subject),
    }
    return TemplateResponse(request, "admin/action_confirm.html", context)


def _do(request: HttpRequest, action: AdminAction, target: ActionTarget) -> HttpResponse:
    try:
        effect = _attempt(action, target.subject)
    except ActionRefused as error:
        messages.error(request, f"The action was refused: {error}")
        return HttpResponseRedirect(target.page)
    log_action(
        request, action.flag, target.title, effect.sentence, key=target.key, model=target.model
    )
    messages.success(request, effect.message())
    return HttpResponseRedirect(target.after)


def log_action(
    request: HttpRequest,
    flag: int,
    title: str,
    sentence: str,
    *,
    key: str,
    model: type[Model] | None = None,
) -> None:
    """Record a user's action: in the log, and as an entry in the database.

    The action is already done. If the database refuses the entry, the log records the error and the user
    sees a warning.

    Args:
        request: The request of the user.
        flag: The kind of the entry: an addition, a change or a deletion.
        title: The name of the target.
        sentence: A sentence that describes the action.
        key: The primary key of the target; empty if it has none.
        model: The model of the target row, if the target is a row.
    """
    assert isinstance(request.user, User)
    _log.warning("%s: %s (by %s, in the admin)", title, sentence, request.user.get_username())
    try:
        LogEntry.objects.create(
            user=request.user,
            content_type=None if model is None else ContentType.objects.get_for_model(model),
            object_id=key,
            object_repr=title[:200],
            action_flag=flag,
            change_message=sentence,
        )
    except DatabaseFault:
        _log.exception("%s: the action could not be recorded in the database", title)
        messages.warning(
            request,
            "The action was done, but the database did not accept the log entry. Only the log file records it.",
        )


def _attempt(action: AdminAction, subject: Any) -> ActionEffect:
    """Perform an action, unless an obstacle has appeared since the page was rendered."""
    if obstacle := action.obstacle(subject):
        raise ActionRefused(obstacle)
    return action.do(subject)


class RowActions(Base):
    """A mixin for a model's admin that offers actions on a row's page."""

    row_actions: tuple[AdminAction, ...] = ()

    def action_details(self, row: Any) -> Sequence[tuple[str, object]]:
        """Return the labelled properties of a row that the confirmation shows."""
        return ((str(self.opts.verbose_name).capitalize(), str(row)),)

    def redirect_from_missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Report that a row does not exist."""
        raise NotImplementedError

    def offered_actions(self, request: HttpRequest) -> list[AdminAction]:
        """Return the actions that the user may perform; the row's page shows their buttons."""
        return [action for action in self.row_actions if may(request, action)]

    def page_after_action(self, row: Any) -> str:
        """Return the page after an action: the row's page, or the list if the row is deleted."""
        return self._row_page(row)

    @override
    def get_urls(self) -> list[URLPattern]:
        urls: list[URLPattern] = super().get_urls()
        if not self.row_actions:
            return urls
        action_path = path(
            "<path:object_id>/do/<str:name>/",
            self.admin_site.admin_view(self.action_view),
            name=f"{self.opts.app_label}_{self.opts.model_name}_action",
        )
        return [action_path, *urls]

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Show the confirmation of an action, or perform the action.

        Raises:
            Http404: No such action exists.
            PermissionDenied: The user lacks the permission for the action or for viewing the rows. The
                answer does not reveal whether the row exists.
        """
        action = next((candidate for candidate in self.row_actions if candidate.name == name), None)
        if action is None:
            raise Http404
        # The confirmation shows the row.
        if not (may(request, action) and self.has_view_permission(request)):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None:
            return self.redirect_from_missing(request, object_id)
        target = ActionTarget(
            row,
            f"{self.opts.verbose_name} {row}",
            self.action_details(row),
            self._row_page(row),
            self.page_after_action(row),
            str(row.pk),
            self.model,
        )
        return ask(request, action, target)

    def _row_page(self, row: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row.pk])
