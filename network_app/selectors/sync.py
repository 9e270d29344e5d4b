"""How far the chains are in reaching the network's frontier."""

from collections.abc import Mapping

from django.conf import settings

from chaindb.chains import Chain, present
from network_app.models import ChainSync, SyncPhase
from network_app.ports import Standing
from network_app.selectors.network import is_fresh, status
from primitives.ids import NodeID

Sync = ChainSync


def syncs() -> Mapping[str, Sync]:
    """Return the chains' rows by alias, "P" and "C"; none before the network ran."""
    return {row.chain: row for row in ChainSync.objects.all()}


def waiting() -> str:
    """Say for whom the chains wait before they begin, or what keeps them from going on.

    Nothing when they do not wait, or nobody knows.
    """
    reported = status()
    if reported is None or not is_fresh(reported):
        return ""
    words = (row.obstacle or row.waiting for row in syncs().values())
    return ", ".join(dict.fromkeys(str(one) for one in words if one is not None))


def roll(alias: str) -> Mapping[NodeID, Standing] | None:
    """Return what the others that take turns say of a chain, P or C; None before they were asked."""
    row = ChainSync.objects.filter(chain=alias).first()
    if row is None or row.roll is None:
        return None
    return {NodeID.parse(text): Standing(*one) for text, one in row.roll.items()}


def is_bootstrapped(alias: str) -> bool:
    """Say whether a chain has reached the frontier since this node's start.

    A node that follows nobody has nothing to reach. The others' rows are believed while the network's
    process reports, and only those of its present run: what an earlier one has reached says nothing of
    what the network has made since. Two statements at most.

    Unspecified: the X-Chain is only a name here (it has no blocks), and is always done. A chain that stands
    before a block which the network has accepted and the rules here refuse is not, until it goes on:
    the reference says so by its health alone, and goes on to make blocks. Without voting a block made here
    would take the place of the accepted one for good, so the turns pass by. One that this node does not
    take part in never is, as in the reference.
    """
    node = settings.NODE
    if alias in set(Chain) - set(present()):
        return False
    if alias == "X" or not (node.bootstrap or node.takes_turns):
        return True
    row = ChainSync.objects.filter(chain=alias).first()
    if row is not None and row.obstacle is not None:
        return False
    if not node.bootstrap:
        return True
    if row is None or row.phase != SyncPhase.BOOTSTRAPPED:
        return False
    reported = status()
    return reported is not None and is_fresh(reported) and row.started_at >= reported.started_at
