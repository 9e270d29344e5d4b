"""How the admin shows checks: their titles, states and errors."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit import display

TITLES: Final = {
    "C": "C-Chain",
    "P": "P-Chain",
    "X": "X-Chain",
    "bootstrapped": "Bootstrapped",
    "network": "Network",
    "router": "Router",
}
"""Of the checks by their names."""


def title_of(name: str) -> str:
    """Return the title of a check; its name where it has none."""
    return TITLES.get(name, name)


def show_state(*, healthy: bool) -> SafeString:
    """Return whether a check passes."""
    return display.badge("passes", "good") if healthy else display.badge("fails", "bad")


def show_error(error: str) -> SafeString:
    """Return what is wrong, one reason below the other where there are several."""
    if not error:
        return display.NOTHING
    what, _, reasons = error.partition(" reason: ")
    lines = [what, *(display.faint(reason) for reason in reasons.split(", ") if reason)]
    return format_html('<span class="nd-why">{}</span>', display.stack(*lines))
