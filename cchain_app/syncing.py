"""Whether a chain is still catching up with other nodes, and how far it is. Pure."""

from typing import NamedTuple


class SyncProgress(NamedTuple):
    """Heights of a chain that is being bootstrapped."""

    starting: int
    """The height at which bootstrapping began."""
    current: int
    highest: int
    """The highest known height."""
