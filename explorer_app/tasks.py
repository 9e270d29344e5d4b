"""Celery's door to the explorer: each task calls a service and says what it did."""

from typing import Final

from celery import shared_task

from chaindb import clock
from explorer_app.apps import explorer
from explorer_app.services import tokens

INDEXING: Final = {"embedded": 0.1, "production": 0.8}
"""Seconds of each in which tokens are indexed, by profile: the embedded worker makes the blocks, too."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Write transfers and holders of tokens as rows, a little of it, where NODE_TOKEN_INDEX says so."""
    site = explorer()
    if not (site.settings.indexes_tokens and site.has_cchain):
        return {"blocks": 0}
    seconds = INDEXING[site.settings.profile]
    return {"blocks": tokens.index_tokens(site.evm, seconds=seconds, now=clock.wall())}
