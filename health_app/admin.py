"""Health in the admin: `history` lists each change of a check and summarizes the checks on the first page."""

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit import display
from adminkit.actions import ActionEffect, ActionTarget, AdminAction, ask
from adminkit.changelist import ListChoice
from adminkit.dashboard import ActionLink, Card, Overview, Panel
from adminkit.read_only import ReadOnlyModelAdmin
from cchain_app.apps import evm_chains
from chaindb.chains import title
from health_app import advice
from health_app.checks import REPLICAS, SUPPLY, tags_of
from health_app.models import HealthChange
from health_app.reporter import Reporter
from health_app.result import CheckResult

TITLES: Final = {
    "bootstrapped": "Bootstrapped",
    "network": "Network",
    "router": "Router",
    REPLICAS: "Read replicas",
    SUPPLY: "Supply",
}
"""Titles of the checks of the node, by name. The checks of chains have the chains' titles."""


def title_of(name: str) -> str:
    """Return the title of a check."""
    return TITLES.get(name) or title(name)


def check_names() -> list[str]:
    """Return the names of this node's checks."""
    counts = settings.NODE.health.supply_interval > 0
    has_replicas = bool(settings.NODE.database_replica_urls)
    return list(tags_of(evm_chains()[1:], counts_supply=counts, has_replicas=has_replicas))


def show_state(*, healthy: bool) -> SafeString:
    """Return a badge that shows whether a check passes."""
    return display.badge("passes", "good") if healthy else display.badge("fails", "bad")


def show_error(error: str) -> SafeString:
    """Return an error with its reasons, one per line."""
    if not error:
        return display.NOTHING
    summary, _, reasons = error.partition(" reason: ")
    lines = [summary, *(display.muted(reason) for reason in reasons.split(", ") if reason)]
    return format_html('<span class="nd-why">{}</span>', display.one_per_line(*lines))


@admin.register(HealthChange)
class HealthChangeAdmin(ReadOnlyModelAdmin):
    """Changes of checks, the latest first."""

    absent_because = "It never existed, or is older than NODE_HISTORY_HEALTH."
    list_display = ("when", "check_name", "state", "why")
    ordering = ("-id",)
    search_fields = ("name",)
    search_help_text = "Check"
    choices = (
        ListChoice("all", "All"),
        ListChoice("failures", "Failures", (Q(healthy=False),)),
    )
    fieldsets = (
        (None, {"fields": ("check_name", "state", "when", "why")}),
        ("Measured values", {"fields": ("measured",)}),
    )

    @override
    def get_choices(self) -> tuple[ListChoice, ...]:
        checks = (ListChoice(name, title_of(name), (Q(name=name),)) for name in check_names())
        return (*self.choices, *checks)

    @override
    def read_term(self, text: str) -> Any:
        term = text.strip().lower()
        checks = check_names()
        names = {name.lower(): name for name in checks}
        names |= {title_of(name).lower(): name for name in checks}
        return names.get(term, text.strip())

    @override
    def branches(self, term: Any) -> list[Q]:
        return [Q(name=term)]

    @admin.display(description="When")
    def when(self, change: HealthChange) -> SafeString:
        """Return the time of the change."""
        return display.moment(int(change.at.timestamp()))

    @admin.display(description="Check")
    def check_name(self, change: HealthChange) -> str:
        """Return the title of the check."""
        return title_of(change.name)

    @admin.display(description="State")
    def state(self, change: HealthChange) -> SafeString:
        """Return the state of the check after the change."""
        return show_state(healthy=change.healthy)

    @admin.display(description="Why")
    def why(self, change: HealthChange) -> SafeString:
        """Return the error of the check."""
        return show_error(change.error)

    @admin.display(description="Message")
    def measured(self, change: HealthChange) -> SafeString:
        """Return the check's message."""
        if change.message is None:
            return display.muted("Nothing could be measured.")
        text = dumps(change.message, indent=2, ensure_ascii=False)
        return format_html('<pre class="nd-box nd-json" tabindex="0">{}</pre>', text)


CHANGES = 5
_SECOND: Final = 10**9
_CHECK_LOG: Final = "check the log"


def overview(reporter: Reporter) -> Overview:
    """Return the current state of the checks."""
    checks = reporter.health().checks
    failing = [name for name in sorted(checks, key=title_of) if _fails(checks[name])]
    failures = (Panel("Failing checks", _failure_table(failing, checks)),)
    return Overview(
        name="Health",
        cards=tuple(_card(name, checks[name]) for name in sorted(checks, key=title_of)),
        panels=(*(failures if failing else ()), Panel("Latest changes", _change_table())),
    )


def _fails(result: CheckResult) -> bool:
    return result.ended is not None and not result.healthy


def _failure_table(failing: Sequence[str], checks: Mapping[str, CheckResult]) -> SafeString:
    """Return a table of failures: the error, its start, and for known failures the cause and the remedy."""
    rows = []
    for name in failing:
        result = checks[name]
        found_advice = advice.find(name, result.error)
        began = (result.first_failure or 0) // _SECOND
        rows.append(
            (
                title_of(name),
                show_error(result.error),
                display.moment(began),
                display.one_per_line(*(entry.cause for entry in found_advice))
                if found_advice
                else display.NOTHING,
                display.one_per_line(
                    *(entry.action for entry in found_advice) if found_advice else (_CHECK_LOG,)
                ),
            )
        )
    return display.prose_table(("Check", "Message", "Since", "Cause", "Action"), rows)


def _card(name: str, result: CheckResult) -> Card:
    action = ActionLink("Run again", reverse("admin_check", args=[name]), RERUN)
    if result.ended is None:
        return Card(title_of(name), display.badge("not yet run", "wait"), action=action)
    note = show_error(result.error) if result.error else ""
    return Card(title_of(name), show_state(healthy=result.healthy), note, action)


RERUN: Final = "health_app.change_healthchange"
"""The permission to run a check again."""


def _run_again(checked: tuple[Reporter, str]) -> ActionEffect:
    reporter, name = checked
    result = reporter.run_again(name)
    state = f"fails: {result.error}" if result.error else "passes"
    failures = result.contiguous_failures
    run = f"The run took {result.duration / 1_000_000:,.0f} ms"
    return ActionEffect(
        f"The check {title_of(name)} was run again: it {state}.",
        f"{run}; it has failed {failures:,} time{'' if failures == 1 else 's'} in a row."
        if failures
        else f"{run}.",
        [("Changes of health", reverse("admin:health_app_healthchange_changelist"))],
    )


_AGAIN: Final = AdminAction(
    name="again",
    button="Run again",
    question="Run this check again?",
    consequence="The check runs now in this process, instead of at its next interval. The checks of the node's other "
    "processes are not affected. A write that the database rejected counts as a failure for at least half a minute, "
    "even if later writes succeed.",
    permission=RERUN,
    do=_run_again,
)


def ask_to_run(request: HttpRequest, reporter: Reporter, name: str) -> HttpResponse:
    """Ask for confirmation before running a check again, or run it if confirmed.

    Raises:
        Http404: There is no such check.
    """
    result = reporter.health().checks.get(name)
    if result is None:
        raise Http404
    details = (
        ("Check", title_of(name)),
        ("State", show_state(healthy=result.healthy)),
        ("Message", show_error(result.error)),
        ("Last run", "never" if result.ended is None else display.moment(result.ended // _SECOND)),
    )
    front = reverse("admin:index")
    return ask(
        request,
        _AGAIN,
        ActionTarget((reporter, name), f"health check {name}", details, front, front),
    )


def _change_table() -> SafeString:
    rows = (
        (
            display.link(
                title_of(change.name),
                reverse("admin:health_app_healthchange_change", args=[change.pk]),
            ),
            show_state(healthy=change.healthy),
            display.moment(int(change.at.timestamp())),
            change.error or display.NOTHING,
        )
        for change in HealthChange.objects.defer("message").order_by("-id")[:CHANGES]
    )
    return display.table(("Check", "State", "When", "Why"), rows)


__all__ = ["HealthChangeAdmin"]
