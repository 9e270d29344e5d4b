"""Long polling for the end of a verification: clients themselves ask only every 15 seconds."""

import time
from typing import Final

from explorer_app.selectors import verified
from explorer_app.selectors.verified import VerificationProgress
from explorer_app.site import Explorer

SECONDS: Final = 10.0
_LOOK: Final = 0.1


def when_over(site: Explorer, key: str) -> VerificationProgress | None:
    """Return a verification when it is over, or its state after `SECONDS`; None if it is unknown.

    Only a few requests may wait, because each occupies one of Django's threads.
    """
    if site.holding.acquire(blocking=False):
        try:
            until = time.monotonic() + SECONDS
            while not verified.is_over(site.evm, key) and time.monotonic() < until:
                time.sleep(_LOOK)
        finally:
            site.holding.release()
    return verified.verification(site.evm, key)
