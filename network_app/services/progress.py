"""How fast the chains come nearer to the frontier, and how long it will take."""

from datetime import UTC, datetime

from django.db import transaction

from network_app.selectors import Sync
from network_app.store import sync


@transaction.atomic(durable=True)
def measure() -> list[Sync]:
    """Measure the rate of each chain that is not done; return their rows."""
    return sync.measure(datetime.now(UTC))
