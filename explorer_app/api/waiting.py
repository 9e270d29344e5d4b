"""Holding a question after a verification open until that ends: its clients ask again only after 15 seconds."""

import time
from typing import Final

from explorer_app.selectors import verified
from explorer_app.selectors.verified import Progress
from explorer_app.site import Explorer

SECONDS: Final = 10.0
_LOOK: Final = 0.1


def when_over(site: Explorer, key: str) -> Progress | None:
    """Return a verification as soon as it is over, or as it is after `SECONDS`; None: nobody knows it.

    Few may wait, since each has one of Django's threads.
    """
    if site.holding.acquire(blocking=False):
        try:
            until = time.monotonic() + SECONDS
            while not verified.is_over(site.evm, key) and time.monotonic() < until:
                time.sleep(_LOOK)
        finally:
            site.holding.release()
    return verified.verification(site.evm, key)
