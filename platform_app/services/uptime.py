"""Turning who is connected into how long validators were online (pchain.md 7.5).

Times are the node's, in Unix seconds: when the clock leaps, who was connected was so on the way.
"""

from collections.abc import Collection

from django.db import transaction as database

from platform_app.apps import platform_chain
from platform_app.store import uptime
from primitives.ids import NodeID

CHECKPOINT = 60
"""Seconds after which all uptimes are written, whether or not somebody came or went: that much of the
time that a node was offline is forgotten, at most, when this one is killed."""


def tracking() -> bool:
    """Say whether uptimes are tracked: everybody counts as online until the first peer ever comes."""
    return uptime.tracking(platform_chain().db) is not None


@database.atomic
def begin(now: int) -> None:
    """Note that nobody has looked until now: for the start of whatever sees the connections.

    What passed since uptimes were written last counts as online, for everybody, as in the reference.
    Before the first peer ever there is nothing to note.
    """
    if not tracking():
        return
    uptime.claim(platform_chain().db, now)
    uptime.settle_all(platform_chain().db, now, tracking=False)
    uptime.disconnect(platform_chain().db, uptime.connected(platform_chain().db))
    uptime.connect(platform_chain().db, [platform_chain().node_id], now)


def observe(connected: Collection[NodeID], now: int) -> None:
    """Note who is connected now; this node always is. Repeating it costs two questions.

    The first peer ever begins the tracking. Who came or went since the last look did so now.
    """
    present = {platform_chain().node_id, *connected}
    if _is_news(present, now):
        _note(present, now)


def _is_news(present: set[NodeID], now: int) -> bool:
    known = uptime.tracking(platform_chain().db)
    if known is None:
        return len(present) > 1
    return _is_due(known, now) or uptime.connected(platform_chain().db).keys() != present


def _is_due(known: uptime.Tracking, now: int) -> bool:
    return known.settled_at is None or now >= known.settled_at + CHECKPOINT


@database.atomic
def _note(present: set[NodeID], now: int) -> None:
    known = uptime.claim(platform_chain().db, now)
    before = uptime.connected(platform_chain().db).keys()
    if _is_due(known, now):
        uptime.settle_all(platform_chain().db, now, tracking=known.settled_at is not None)
    else:
        uptime.settle(platform_chain().db, present ^ before, now)
    uptime.disconnect(platform_chain().db, before - present)
    uptime.connect(platform_chain().db, present - before, now)
