"""Work that goes on whatever happens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

RETRY = 1.0
"""Seconds after which work that failed unexpectedly begins anew."""

_log = logging.getLogger(__name__)


async def until_done(work: Callable[[], Awaitable[None]], name: str) -> None:
    """Do something; a failure that nobody expected (a database that is away) makes it begin anew."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("%s: failed and begins anew", name)
        else:
            return
        await asyncio.sleep(RETRY)
