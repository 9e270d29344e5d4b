"""`python -m tests.servers.killed_at POINT ARGUMENTS…`: `manage.py`, killed with all its processes at a point.

It ends by SIGKILL, as a crash does: nothing is flushed, answered or closed.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final, NamedTuple

import django
from django.core.management import execute_from_command_line

from nodeproject.startup.profile import choose_settings
from primitives.ids import PRIMARY_NETWORK_ID


class Point(NamedTuple):
    """Where in the node's work: right before a function, or right after it."""

    module: str
    function: str
    """With its class before a dot, if it has one."""
    done: bool
    """Whether the function is run first."""
    chain: str | None = None
    """"P" or "C": of the proposer VM of that chain alone."""


POINTS: Final = {
    "inserted": Point("platform_app.store.mempool", "add", done=True),
    "committed": Point("platform_app.notifications", "txs_issued", done=False),
    "told": Point("platform_app.services.mempool", "issue", done=True),
    "copied": Point("chaindb.snapshots.sqlite", "to_disk", done=False),
    "emptied-sqlite": Point("chaindb.snapshots.sqlite", "fill", done=True),
    "emptied-postgresql": Point("chaindb.snapshots.postgresql", "fill", done=True),
    "restored": Point("nodeproject.heads.registry", "wait_for_all", done=False),
    "saved": Point("primitives.whole_files", "_give_name", done=False),
    "filled": Point("nodeproject.copies.backups.service", "verify", done=False),
    "P written": Point("platform_app.store.blocks", "commit", done=True),
    "P accepted": Point("network_app.proposervm.vm", "ProposerVM.accept", done=True, chain="P"),
    "C before": Point("network_app.proposervm.vm", "ProposerVM.accept", done=False, chain="C"),
    "C written": Point("cchain_app.store.chain", "commit", done=True),
}
"""From the insert of a P-Chain's transaction to its answer: not committed yet; committed, and nobody told
that it waits; told, and not answered. Of a snapshot: its file is whole and has no name yet; one of the tables
is as it was, and nothing committed; all is committed, and nobody has said that he knows. Of a backup: its file is
whole and has no name yet; it is restored, and nothing verified or committed. And of the acceptance of a block:
decided, and nothing of it written; written, the outer block too, and not committed; committed, and nobody told."""


def main(point: Point, arguments: list[str]) -> None:
    """Run a command of the node that does not live past a point."""
    choose_settings()
    django.setup()
    owner: Any = import_module(point.module)
    *classes, name = point.function.split(".")
    for one in classes:
        owner = getattr(owner, one)
    setattr(owner, name, _deadly(getattr(owner, name), point))
    execute_from_command_line(["manage.py", *arguments])


def _deadly(function: Callable[..., Any], point: Point) -> Callable[..., Any]:
    @wraps(function)
    def die(*args: Any, **kwargs: Any) -> Any:
        if point.chain is not None and point.chain != _chain_of(args[0]):
            return function(*args, **kwargs)
        if point.done:
            function(*args, **kwargs)
        os.killpg(0, signal.SIGKILL)
        return None

    return die


def _chain_of(vm: Any) -> str:
    return "P" if vm.chain_id == PRIMARY_NETWORK_ID else "C"


if __name__ == "__main__":
    main(POINTS[sys.argv[1]], sys.argv[2:])
