"""What the admin's first page says of health: this process's checks, and what changed last."""

from django.urls import reverse
from django.utils.safestring import SafeString

from adminkit import display
from adminkit.overview import Card, Overview, Panel
from health_app.admin.shown import show_error, show_state, title_of
from health_app.models import HealthChange
from health_app.reporter import Reporter
from health_app.result import CheckResult

CHANGES = 5


def overview(reporter: Reporter) -> Overview:
    """Return how the checks are now."""
    checks = reporter.health().checks
    return Overview(
        name="Health",
        cards=tuple(_card(name, checks[name]) for name in sorted(checks, key=title_of)),
        panels=(Panel("Latest changes", _change_table()),),
    )


def _card(name: str, result: CheckResult) -> Card:
    if result.ended is None:
        return Card(title_of(name), display.badge("not yet run", "wait"))
    note = show_error(result.error) if result.error else ""
    return Card(title_of(name), show_state(healthy=result.healthy), note)


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
