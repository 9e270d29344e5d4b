"""Celery's door to the explorer: each task calls a service and says what it did."""

import threading
from collections.abc import Callable
from typing import Final

from celery import shared_task

from chaindb import clock
from chaindb.connections import release
from explorer_app.apps import explorer
from explorer_app.selectors import verified
from explorer_app.services import tokens
from explorer_app.site import VERIFY, Explorer

TURN: Final = 300.0
"""Seconds after which a worker begins no other verification, and lets other tasks in."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Write transfers and holders of tokens as rows, a little of it, where NODE_TOKEN_INDEX says so.

    On a fork a question may wait for the remote node, and longer than a block may: there a thread of its own does it.
    """
    site = explorer()
    if not (site.settings.indexes_tokens and site.has_cchain):
        return {"blocks": 0}
    if not (seconds := site.evm.indexing.seconds("tokens")):
        return {"blocks": 0}
    if site.evm.fork is None:
        return {"blocks": _index(site, seconds)}
    _in_thread("tokens", site.indexing, lambda: _index(site, seconds))
    return {"blocks": 0}


def _index(site: Explorer, seconds: float) -> int:
    return tokens.index_tokens(site.evm, seconds=seconds, now=clock.wall())


@shared_task(name=VERIFY)
def verify() -> dict[str, int]:
    """Work verifications off.

    In the embedded profile the worker makes the blocks, too: there a thread of its own does it, one at a time.
    """
    site = explorer()
    if not (site.has_cchain and verified.any_waits(site.evm)):
        return {"verifications": 0}
    # Only here: what reads sources and arguments takes a tenth of the start of a node to import.
    from explorer_app.services import verification

    if site.settings.profile == "production":
        return {"verifications": verification.work(site, seconds=TURN)}
    # All of them. What comes as it ends is found by the next tick.
    _in_thread(
        "verification", site.verifying, lambda: verification.work(site, seconds=float("inf"))
    )
    return {"verifications": 0}


def _in_thread(name: str, held: threading.Lock, work: Callable[[], object]) -> None:
    """Do work in a thread that holds a lock until it is done, unless one is at it."""

    def run() -> None:
        try:
            work()
        finally:
            held.release()
            release()

    if not held.acquire(blocking=False):
        return
    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError:  # the system has no threads left: the next tick tries again
        held.release()
        raise
