"""What the admin's first page says of a chain: figures, and tables of what came last."""

from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString


class Way(NamedTuple):
    """Where something can be done, for those who have the right to it (`deeds`)."""

    words: str
    page: str
    permission: str


@dataclass(frozen=True, slots=True)
class Card:
    """One figure: what it is, its value, and a line beneath."""

    title: str
    value: object
    note: object = ""
    way: Way | None = None


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
