"""Whether a chain is still catching up with other nodes, and how far it is. Pure."""

from typing import NamedTuple


class Progress(NamedTuple):
    """Heights of a chain that is being bootstrapped."""

    starting: int
    """Where it began."""
    current: int
    highest: int
    """As far as is known."""


def up_to_date() -> Progress | None:
    """Return the progress of a chain that follows no other nodes: there is none to make."""
    return None
