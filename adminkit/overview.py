"""A chain's part of the admin's first page: figures, and tables of the latest rows."""

from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString


class ActionLink(NamedTuple):
    """A link to an action, shown to users with the permission (`row_actions`)."""

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
