"""Wakes the block producer. Knows its task by name only, so that there is no circle of imports."""

import logging

from celery import current_app
from django.conf import settings
from django.core.cache import cache

TASK = "cchain_app.produce_blocks"

_REQUESTED = "cchain.block-requested"
_LIFETIME = 2
"""Seconds after which a request that no worker answered is made again."""

_log = logging.getLogger(__name__)


def request_block() -> None:
    """Ask for a block, unless that was asked already and no worker has begun yet.

    For `transaction.on_commit` or after it. A broker that is away is logged and forgiven: the
    transaction is stored, and the beat's tick finds it.
    """
    if settings.NODE.mining != "auto":
        return
    try:
        if cache.add(_REQUESTED, 1, _LIFETIME):
            current_app.signature(TASK).apply_async(expires=60)
    except Exception as error:  # whatever broker or cache say, the transaction is stored
        _log.warning("the broker is away; the next tick makes the block: %s", error)


def answer_request() -> None:
    """Note that a worker looks at the pool from now on: what comes later must ask again."""
    cache.delete(_REQUESTED)
