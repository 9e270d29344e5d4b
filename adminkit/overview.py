"""What the admin's first page says of a chain: figures, and tables of what came last."""

from dataclasses import dataclass

from django.utils.safestring import SafeString


@dataclass(frozen=True, slots=True)
class Card:
    """One figure: what it is, its value, and a line beneath."""

    title: str
    value: object
    note: object = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A table under its title."""

    title: str
    body: SafeString


@dataclass(frozen=True, slots=True)
class Overview:
    """A chain's summary."""

    name: str
    cards: tuple[Card, ...]
    panels: tuple[Panel, ...]
