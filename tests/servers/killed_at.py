"""`python -m tests.servers.killed_at POINT ARGUMENTS…`: `manage.py`, killed with all its processes at a point.

It ends by SIGKILL, as a crash does: nothing is flushed, answered or closed.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import django
from django.core.management import execute_from_command_line

from nodeproject.profile import choose_settings


class Point(NamedTuple):
    """Where in the node's work: right before a function, or right after it."""

    module: str
    function: str
    done: bool
    """Whether the function is run first."""


POINTS: Final = {
    "inserted": Point("platform_app.store.mempool", "add", done=True),
    "committed": Point("platform_app.notifications", "txs_issued", done=False),
    "told": Point("platform_app.services.mempool", "issue", done=True),
    "copied": Point("chaindb.snapshots.sqlite", "to_disk", done=False),
    "emptied-sqlite": Point("chaindb.snapshots.sqlite", "fill", done=True),
    "emptied-postgresql": Point("chaindb.snapshots.postgresql", "fill", done=True),
    "restored": Point("nodeproject.followers", "wait_for_all", done=False),
}
"""From the insert of a P-Chain's transaction to its answer: not committed yet; committed, and nobody told
that it waits; told, and not answered. Of a snapshot: its file is whole and has no name yet; one of the tables
is as it was, and nothing committed; all is committed, and nobody has said that he knows."""


def main(point: Point, arguments: list[str]) -> None:
    """Run a command of the node that does not live past a point."""
    choose_settings()
    django.setup()
    module = import_module(point.module)
    setattr(module, point.function, partial(_die, getattr(module, point.function), point))
    execute_from_command_line(["manage.py", *arguments])


def _die(function: Callable[..., Any], point: Point, *args: Any, **kwargs: Any) -> None:
    if point.done:
        function(*args, **kwargs)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(POINTS[sys.argv[1]], sys.argv[2:])
