"""Celery tasks of the explorer: each calls a service and returns its result."""

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
"""Seconds after which a worker starts no further verification, so that other tasks can run."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Index a batch of token transfers and holders, if NODE_TOKEN_INDEX is set.

    On a fork a query may wait for the remote node longer than a block may take, so a separate thread does the work.
    """
    site = explorer()
    if not (site.indexes_tokens and site.has_cchain):
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
    """Process pending verifications.

    In the embedded profile the worker also makes the blocks, so a separate thread does the work, one at a time.
    """
    site = explorer()
    if not (site.has_cchain and verified.any_waits(site.evm)):
        return {"verifications": 0}
    # Imported here, because the modules that read sources and arguments take a tenth of a node's start.
    from explorer_app.services import verification

    if site.node.profile == "production":
        return {"verifications": verification.work(site, seconds=TURN)}
    # Process all of them. A submission that arrives as the thread ends is processed at the next tick.
    _in_thread(
        "verification", site.verifying, lambda: verification.work(site, seconds=float("inf"))
    )
    return {"verifications": 0}


def _in_thread(name: str, lock: threading.Lock, work: Callable[[], object]) -> None:
    """Run work in a thread that holds a lock until it is done; do nothing if the lock is already held."""

    def run() -> None:
        try:
            work()
        finally:
            lock.release()
            release()

    if not lock.acquire(blocking=False):
        return
    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError:  # the system has no threads left: the next tick tries again
        lock.release()
        raise
