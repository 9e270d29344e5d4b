"""The health history in the admin: when each check began to fail or to pass again, and why."""

from json import dumps
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit import display
from adminkit.changelist import Choice
from adminkit.read_only import ReadOnlyModelAdmin
from health_app.admin.shown import TITLES, show_error, show_state, title_of
from health_app.checks import TAGS
from health_app.models import HealthChange


@admin.register(HealthChange)
class HealthChangeAdmin(ReadOnlyModelAdmin):
    """Changes of checks, the latest first."""

    list_display = ("when", "check_name", "state", "why")
    ordering = ("-id",)
    search_fields = ("name",)
    search_help_text = "Check"
    choices = (
        Choice("all", "All"),
        Choice("failures", "Failures", (Q(healthy=False),)),
        *(Choice(name, title_of(name), (Q(name=name),)) for name in TAGS),
    )
    fieldsets = (
        (None, {"fields": ("check_name", "state", "when", "why")}),
        ("What was measured", {"fields": ("measured",)}),
    )

    @override
    def read_term(self, text: str) -> Any:
        wanted = text.strip().lower()
        names = {name.lower(): name for name in TAGS}
        names |= {title.lower(): name for name, title in TITLES.items()}
        return names.get(wanted, text.strip())

    @override
    def lanes(self, term: Any) -> list[Q]:
        return [Q(name=term)]

    @admin.display(description="When")
    def when(self, change: HealthChange) -> SafeString:
        """Return the moment of the change."""
        return display.moment(int(change.at.timestamp()))

    @admin.display(description="Check")
    def check_name(self, change: HealthChange) -> str:
        """Return which check it is."""
        return title_of(change.name)

    @admin.display(description="State")
    def state(self, change: HealthChange) -> SafeString:
        """Return how the check was from then on."""
        return show_state(healthy=change.healthy)

    @admin.display(description="Why")
    def why(self, change: HealthChange) -> SafeString:
        """Return what was wrong."""
        return show_error(change.error)

    @admin.display(description="Message")
    def measured(self, change: HealthChange) -> SafeString:
        """Return the check's message."""
        if change.message is None:
            return display.faint("Nothing could be measured.")
        shown = dumps(change.message, indent=2, ensure_ascii=False)
        return format_html('<pre class="nd-box nd-json" tabindex="0">{}</pre>', shown)
