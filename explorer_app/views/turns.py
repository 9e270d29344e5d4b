"""Turns of pages that execute something: few at a time, so that others of the process go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from explorer_app.site import Explorer

PATIENCE: Final = 2.0
"""Seconds that a page waits for its turn."""
BUSY: Final = "Other pages have something executed: try again in a moment."


@contextmanager
def turn(site: Explorer) -> Iterator[bool]:
    """Wait for a turn, and have it within the block; false: there is none for as long as somebody waits."""
    is_ours = site.executing.acquire(timeout=PATIENCE)
    try:
        yield is_ours
    finally:
        if is_ours:
            site.executing.release()
