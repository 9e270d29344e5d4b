"""A chain's part of the admin's first page: figures, tables of the latest rows, and bar charts of its rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from chaindb.minutes import MAX_BLOCKS
from primitives.counting import counted


class ActionLink(NamedTuple):
    """A link to an action, shown to users with the permission (`actions`)."""

    label: str
    page: str
    permission: str


@dataclass(frozen=True, slots=True)
class Card:
    """One figure: its title, its value, and a note below."""

    title: str
    value: object
    note: object = ""
    action: ActionLink | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A table with a title."""

    title: str
    body: SafeString


@dataclass(frozen=True, slots=True)
class Overview:
    """A chain's summary."""

    name: str
    cards: tuple[Card, ...]
    panels: tuple[Panel, ...]


_BAR = 10
_HEIGHT = 40


def bars(values: Sequence[int], label: str) -> SafeString:
    """Return a bar chart, the largest value at full height; each bar is labelled with its value."""
    top = max(values, default=0) or 1
    drawn = format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        (
            (
                place * _BAR,
                f"{_HEIGHT * (1 - value / top):.1f}",
                _BAR - 2,
                f"{_HEIGHT * value / top:.1f}",
                f"{value:,}, {_before(len(values) - place - 1)}",
            )
            for place, value in enumerate(values)
        ),
    )
    return format_html(
        '<svg class="nd-bars" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        max(1, len(values)) * _BAR, _HEIGHT, label, drawn,
    )  # fmt: skip


def rate(title: str, values: Sequence[int]) -> SafeString:
    """Return a chart of a rate, one value for each of the last minutes, the oldest first.

    No values means that there were more blocks than are counted for a page.
    """
    if not values:
        shown = format_html(
            '<div class="nd-muted">more than {} blocks in the last minute</div>', f"{MAX_BLOCKS:,}"
        )
    else:
        mean = sum(values) / len(values)
        count = len(values)
        shown = format_html(
            '<div class="nd-figure">{}</div>{}<div class="nd-muted">{} a minute on average, {} at most, in {}</div>',
            f"{values[-1]:,}", bars(values, f"{title}, the last {counted(count, 'minute')}"), f"{mean:,.1f}",
            f"{max(values):,}", f"{count} min",
        )  # fmt: skip
    return format_html('<div class="nd-chart"><h4>{} a minute</h4>{}</div>', title, shown)


def beside(*charts: SafeString) -> SafeString:
    """Return charts side by side, as far as they fit."""
    joined = format_html_join("", "{}", ((chart,) for chart in charts))
    return format_html('<div class="nd-charts">{}</div>', joined)


def _before(minutes: int) -> str:
    return "in the last minute" if minutes == 0 else f"in the minute {minutes} min before that"
