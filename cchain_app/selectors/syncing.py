"""Whether the chain is still catching up with other nodes, and how far it is."""

from typing import NamedTuple


class Progress(NamedTuple):
    """Heights of a chain that is being bootstrapped."""

    starting: int
    """Where it began."""
    current: int
    highest: int
    """As far as is known."""


def progress() -> Progress | None:
    """Return how far bootstrapping is; None when the chain is up to date.

    A chain that follows no other nodes is always up to date.
    """
    return None
