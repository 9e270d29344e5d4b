"""`python -m tests.servers.killed_at POINT ARGUMENTS…`: runs `manage.py` and kills it at a point.

All its processes end by SIGKILL, as in a crash: nothing is flushed, answered or closed.
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
    """A point in the node's work: right before a function, or right after it."""

    module: str
    function: str
    """The function's name, after the class name and a dot for a method."""
    done: bool
    """Whether the process is killed after the function, not before it."""
    chain: str | None = None
    """"P" or "C": only in the proposer VM of that chain."""


POINTS: Final = {
    "inserted": Point("platform_app.store.mempool", "add", done=True),
    "committed": Point("platform_app.notifications", "txs_issued", done=False),
    "told": Point("platform_app.services.mempool", "issue", done=True),
    "copied": Point("chaindb.snapshots.sqlite", "to_disk", done=False),
    "emptied-sqlite": Point("chaindb.snapshots.sqlite", "fill", done=True),
    "emptied-postgresql": Point("chaindb.snapshots.postgresql", "fill", done=True),
    "one restored": Point("chaindb.snapshots.sqlite", "_detach", done=False),
    "restored": Point("chaindb.followers", "wait_for_all", done=False),
    "saved": Point("primitives.whole_files", "_give_name", done=False),
    "filled": Point("nodeproject.copies.backups", "verify", done=False),
    "P written": Point("platform_app.store.blocks", "commit", done=True),
    "P accepted": Point("network_app.proposervm.vm", "ProposerVM.accept", done=True, chain="P"),
    "L1 chain made": Point("explorer_app.services.l1_creation", "is_served", done=False),
    "L1 validator asked": Point(
        "explorer_app.services.l1_manager_steps", "ManagerSteps._tell_platform", done=False
    ),
    "C before": Point("network_app.proposervm.vm", "ProposerVM.accept", done=False, chain="C"),
    "C written": Point("cchain_app.store.chain", "commit", done=True),
}
"""Points in groups:

- The insert of a P-Chain transaction: before the commit; after the commit, before the notification that it
  is pending; after that notification, before the answer.
- A snapshot: its file is complete but has no name yet; one of the tables is restored but not committed; one
  of several databases is committed; all is committed but no other process has acknowledged it.
- The creation of an L1: the blockchain is accepted, but no row says so; the manager has asked for a validator, and the
  P-Chain does not know it yet.
- A backup: its file is complete but has no name yet; it is restored but nothing is verified or committed.
- The acceptance of a block: decided but not written; written, with the outer block, but not committed;
  committed but not announced."""


def main(point: Point, arguments: list[str]) -> None:
    """Run a command of the node that is killed at a point."""
    choose_settings()
    django.setup()
    owner: Any = import_module(point.module)
    *classes, name = point.function.split(".")
    for cls in classes:
        owner = getattr(owner, cls)
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
