"""Celery's door to the explorer: each task calls a service and says what it did."""

import threading
from typing import Final

from celery import shared_task

from chaindb import clock
from chaindb.connections import release
from explorer_app.apps import explorer
from explorer_app.services import tokens, verification
from explorer_app.site import Explorer

INDEXING: Final = {"embedded": 0.1, "production": 0.8}
"""Seconds of each in which tokens are indexed, by profile: the embedded worker makes the blocks, too."""

TURN: Final = 300.0
"""Seconds after which a worker begins no other verification, and lets other tasks in."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Write transfers and holders of tokens as rows, a little of it, where NODE_TOKEN_INDEX says so."""
    site = explorer()
    if not (site.settings.indexes_tokens and site.has_cchain):
        return {"blocks": 0}
    seconds = INDEXING[site.settings.profile]
    return {"blocks": tokens.index_tokens(site.evm, seconds=seconds, now=clock.wall())}


@shared_task(name=verification.TASK)
def verify() -> dict[str, int]:
    """Work verifications off.

    In the embedded profile the worker makes the blocks, too: there a thread of its own does it, one at a time.
    """
    site = explorer()
    if not site.has_cchain:
        return {"verifications": 0}
    if site.settings.profile == "production":
        return {"verifications": verification.work(site, seconds=TURN)}
    if site.verifying.acquire(blocking=False):
        threading.Thread(target=_work, args=[site], name="verification", daemon=True).start()
    return {"verifications": 0}


def _work(site: Explorer) -> None:
    """Work them all off. What comes as it ends is found by the next tick."""
    try:
        verification.work(site, seconds=float("inf"))
    finally:
        site.verifying.release()
        release()
