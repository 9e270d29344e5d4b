"""Progress of the chains towards the network's frontier."""

from collections.abc import Mapping

from django.conf import settings

from chaindb.chains import is_left_out
from network_app.models import ChainSync, SyncPhase
from network_app.selectors.network import dial_failures, is_fresh, status

Sync = ChainSync


def syncs() -> Mapping[str, Sync]:
    """Return the chains' rows by name; empty if the network has never run."""
    return {row.chain: row for row in ChainSync.objects.all()}


def waiting() -> str:
    """Return the reasons why chains have not started, or cannot continue.

    The text is empty if they do not wait, or if the network's process does not report.
    """
    reported = status()
    if reported is None or not is_fresh(reported):
        return ""
    rows = syncs().values()
    reasons: list[object] = [row.obstacle or row.waiting for row in rows]
    if any(row.waiting is not None for row in rows):
        reasons += dial_failures(reported)
    return ", ".join(dict.fromkeys(str(reason) for reason in reasons if reason is not None))


def is_bootstrapped(alias: str) -> bool:
    """Return whether a chain has reached the frontier since this node's start.

    A node that follows no network has nothing to reach. For other nodes, rows count only while the network's
    process reports, and only if they are from its current run, because the network may have built blocks since an
    earlier run. Needs at most two statements.

    Unspecified: the X-Chain is only a name here (it has no blocks), and is always bootstrapped. A chain stuck
    before a block that the network has accepted and this node rejects is not bootstrapped until it continues;
    the reference reports that in its health checks only. A chain that this node does not run is never
    bootstrapped, as in the reference.
    """
    node = settings.NODE
    if is_left_out(alias):
        return False
    if alias == "X" or not (node.common.bootstrap or node.common.votes):
        return True
    row = ChainSync.objects.filter(chain=alias).first()
    if row is not None and row.obstacle is not None:
        return False
    if not node.common.bootstrap:
        return True
    if row is None or row.phase != SyncPhase.BOOTSTRAPPED:
        return False
    reported = status()
    return reported is not None and is_fresh(reported) and row.started_at >= reported.started_at
