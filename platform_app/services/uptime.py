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
    return uptime.tracking() is not None


@database.atomic
def begin(now: int) -> None:
    """Note that nobody has looked until now: for the start of whatever sees the connections.

    What passed since uptimes were written last counts as online, for everybody, as in the reference.
    Before the first peer ever there is nothing to note.
    """
    if not tracking():
        return
    uptime.claim(now)
    uptime.settle_all(now, tracking=False)
    uptime.disconnect(uptime.connected())
    uptime.connect([platform_chain().node_id], now)


def observe(connected: Collection[NodeID], now: int) -> None:
    """Note who is connected now; this node always is. Repeating it costs two questions.

    The first peer ever begins the tracking. Who came or went since the last look did so now.
    """
    present = {platform_chain().node_id, *connected}
    if _is_news(present, now):
        _note(present, now)


def _is_news(present: set[NodeID], now: int) -> bool:
    known = uptime.tracking()
    if known is None:
        return len(present) > 1
    return _is_due(known, now) or uptime.connected().keys() != present


def _is_due(known: uptime.Tracking, now: int) -> bool:
    return known.settled_at is None or now >= known.settled_at + CHECKPOINT


@database.atomic
def _note(present: set[NodeID], now: int) -> None:
    known = uptime.claim(now)
    before = uptime.connected().keys()
    if _is_due(known, now):
        uptime.settle_all(now, tracking=known.settled_at is not None)
    else:
        uptime.settle(present ^ before, now)
    uptime.disconnect(before - present)
    uptime.connect(present - before, now)
