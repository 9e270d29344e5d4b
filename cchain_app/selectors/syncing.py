"""Whether the chain is still catching up with other nodes, and how far it is."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """Heights of a chain that is being bootstrapped."""

    starting: int
    """Where it began."""
    current: int
    highest: int
    """As far as is known."""


Question = Callable[[], Progress | None]


def _alone() -> Progress | None:
    return None


_question: Question = _alone


def install(question: Question | None) -> None:
    """Let somebody answer who knows other nodes; None: this node follows nobody.

    It is asked on the event loop, so it answers from memory.
    """
    global _question  # noqa: PLW0603  # one for each process
    _question = question or _alone


def progress() -> Progress | None:
    """Return how far bootstrapping is; None when the chain is up to date.

    A chain that follows no other nodes is always up to date.
    """
    return _question()
