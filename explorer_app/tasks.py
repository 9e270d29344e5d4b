"""Celery tasks of the explorer: each calls a service and returns its result."""

from typing import Final

from celery import shared_task

from explorer_app.apps import explorer
from explorer_app.selectors import verified
from explorer_app.services import indexes
from explorer_app.site import VERIFY

TURN: Final = 300.0
"""Seconds after which a worker starts no further verification, so that other tasks can run."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Index a batch of token transfers and holders, if NODE_TOKEN_INDEX is set."""
    site = explorer()
    if not (site.indexes_tokens and site.has_cchain):
        return {"blocks": 0}
    if not (seconds := site.evm.indexing.seconds("tokens")):
        return {"blocks": 0}
    return {"blocks": indexes.advance_tokens(site, seconds)}


@shared_task(name="explorer_app.summarise")
def summarise() -> dict[str, int]:
    """Summarise the next blocks by day and by balance, if NODE_STATISTICS is set."""
    site = explorer()
    if not site.has_statistics:
        return {"blocks": 0}
    if not (seconds := site.evm.indexing.seconds("statistics")):
        return {"blocks": 0}
    # Imported here like the verification, for a faster start.
    from explorer_app.services import statistics

    done: dict[str, int] = {"blocks": 0}
    site.statistics.run(lambda: done.update(blocks=statistics.summarise(site.evm, seconds=seconds)))
    return done


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
    site.verifying.start(lambda: verification.work(site, seconds=float("inf")))
    return {"verifications": 0}
