"""Restarts work that fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

RETRY = 1.0
"""Seconds after which work that failed unexpectedly is restarted."""

_log = logging.getLogger(__name__)


async def until_done(work: Callable[[], Awaitable[None]], name: str) -> None:
    """Run `work` to completion; restart it after unexpected failures, for example of the database."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("%s: failed and restarts", name)
        else:
            return
        await asyncio.sleep(RETRY)
