"""How far the chains are in reaching the network's frontier."""

from collections.abc import Mapping

from django.conf import settings

from network_app.models import ChainSync, SyncPhase
from network_app.selectors.network import is_fresh, status

Sync = ChainSync


def syncs() -> Mapping[str, Sync]:
    """Return the chains' rows by alias, "P" and "C"; none before the network ran."""
    return {row.chain: row for row in ChainSync.objects.all()}


def waiting() -> str:
    """Say for whom the chains wait before they begin; nothing when they do not, or nobody knows."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return ""
    return next((str(row.waiting) for row in syncs().values() if row.waiting is not None), "")


def is_agreed(alias: str, since: float) -> bool:
    """Say whether all others that take turns have no block that is missing here.

    Those count that are there and answer; where none does there is nobody to agree with.

    Args:
        alias: P or C.
        since: Unix seconds of the wall's clock; they were asked no earlier.
    """
    row = ChainSync.objects.filter(chain=alias).first()
    if row is None or row.waited_for is None:
        return False
    if row.agreed_at is None:
        return row.waited_for == 0
    return row.agreed_at.timestamp() >= since


def is_bootstrapped(alias: str) -> bool:
    """Say whether a chain has reached the frontier since this node's start.

    A node that follows nobody has nothing to reach. The others' rows are believed while the network's
    process reports, and only those of its present run: what an earlier one has reached says nothing of
    what the network has made since. Two statements at most.

    Unspecified: the X-Chain is only a name here (it has no blocks), and is always done.
    """
    if alias == "X" or not settings.NODE.bootstrap:
        return True
    row = ChainSync.objects.filter(chain=alias).first()
    if row is None or row.phase != SyncPhase.BOOTSTRAPPED:
        return False
    reported = status()
    return reported is not None and is_fresh(reported) and row.started_at >= reported.started_at
