"""How far the chains are in reaching the network's frontier."""

from collections.abc import Mapping

from django.conf import settings

from network_app.models import ChainSync, SyncPhase

Sync = ChainSync


def syncs() -> Mapping[str, Sync]:
    """Return the chains' rows by alias, "P" and "C"; none before the network ran."""
    return {row.chain: row for row in ChainSync.objects.all()}


def is_bootstrapped(alias: str) -> bool:
    """Say whether a chain has reached the frontier since this node's start.

    A node that follows nobody has nothing to reach. Unspecified: the X-Chain is only a name here (it
    has no blocks), and is always done.
    """
    if alias == "X" or not settings.NODE.bootstrap:
        return True
    row = ChainSync.objects.filter(chain=alias).first()
    return row is not None and row.phase == SyncPhase.BOOTSTRAPPED
