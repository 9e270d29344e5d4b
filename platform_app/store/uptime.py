"""Connected nodes, and the uptimes of validators of the Primary Network (pchain.md 7.5).

A validator's row has the seconds up to `last_updated`; later time counts while its node is connected.
A validator whose node is already connected at its start therefore counts as online from its start. Time skipped
by moving the clock counts like the time before it. Time after the end of the staking period does not count.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Self

from chaindb.database import Database
from platform_app import models
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_COLUMNS = ("up_duration", "last_updated")

_UPTIMES = """
SELECT s.tx_id, s.node_id, s.start_time, s.end_time, u.up_duration, u.last_updated, c.since
FROM platform_app_staker s JOIN platform_app_validatoruptime u ON u.staker_id = s.tx_id
LEFT JOIN platform_app_connectednode c ON c.node_id = s.node_id
WHERE s.phase < 3 AND s.phase = 2 AND NOT s.is_delegator AND s.subnet_id = %s
"""
_OF_NODES = _UPTIMES + "AND s.node_id IN ({keys})"
_CONNECTED = "SELECT node_id, since FROM platform_app_connectednode"
_TRACKING = "SELECT began_at, settled_at FROM platform_app_uptimetracking WHERE id = 1"
_CLAIM = (
    "INSERT INTO platform_app_uptimetracking (id, began_at) VALUES (1, %s) ON CONFLICT DO NOTHING"
)
_SETTLED = "UPDATE platform_app_uptimetracking SET settled_at = %s"


class Uptime(NamedTuple):
    """The uptime record of a current validator; times in Unix seconds, durations in seconds."""

    tx_id: ID
    node_id: NodeID
    start: int
    end: int
    up_duration: int
    """Seconds online before `last_updated`."""
    last_updated: int
    connected_since: int | None

    def up_until(self, now: int, *, tracking: bool = True) -> int:
        """Return the seconds that it was online until now; all seconds count while uptimes are not tracked."""
        moment = min(now, self.end)
        if not tracking:
            return self.up_duration + max(0, moment - self.last_updated)
        if self.connected_since is None:
            return self.up_duration
        seen_from = max(self.connected_since, self.last_updated)
        return self.up_duration + max(0, moment - seen_from)

    def fraction(self, now: int, *, tracking: bool = True) -> float:
        """Return the fraction of its time that it was online; 1 if it has just started.

        For a moment before `last_updated`, return the fraction at `last_updated`, because the distribution
        of online time before it is unknown.
        """
        moment = max(min(now, self.end), self.last_updated)
        total = moment - self.start
        if total <= 0:
            return 1.0
        return min(1.0, self.up_until(moment, tracking=tracking) / total)

    def observed(self, now: int, since: int | None) -> float | None:
        """Return the fraction of its time that it was online; None if it was never observed online.

        Time before tracking began counts as online. The rules require that, but it is not an observation.

        Args:
            now: Unix seconds.
            since: When tracking began, in Unix seconds; None if uptimes are not tracked.
        """
        if since is None:
            return None
        unwatched = max(0, since - self.start)
        if self.connected_since is None and self.up_duration <= unwatched:
            return None
        return self.fraction(now)

    def settled(self, now: int, *, tracking: bool = True) -> Self:
        """Return the same record with all seconds until now in `up_duration`."""
        return self._replace(
            up_duration=self.up_until(now, tracking=tracking),
            last_updated=max(self.last_updated, min(now, self.end)),
        )


class Tracking(NamedTuple):
    """When tracking of uptimes began, in Unix seconds."""

    began_at: int
    settled_at: int | None
    """When all uptimes were last written; None while the first tracking process is starting."""


def uptimes(db: Database, node_ids: Iterable[NodeID] | None = None) -> list[Uptime]:
    """Return the uptimes of current validators of the Primary Network, for these nodes or for all."""
    if node_ids is None:
        uptime_rows = db.rows(_UPTIMES, (PRIMARY_NETWORK_ID,))
    else:
        uptime_rows = db.rows_by_keys(_OF_NODES, list(node_ids), (PRIMARY_NETWORK_ID,))
    return [
        Uptime(ID(bytes(tx_id)), NodeID(bytes(node_id)), *numbers)
        for tx_id, node_id, *numbers in uptime_rows
    ]


def tracking(db: Database) -> Tracking | None:
    """Return when tracking of uptimes began; None while this node has never had a peer."""
    row = db.row(_TRACKING)
    return None if row is None else Tracking(*row)


def connected(db: Database) -> dict[NodeID, int]:
    """Return the nodes that were connected at the last check, with the start of each connection."""
    return {NodeID(bytes(node_id)): since for node_id, since in db.rows(_CONNECTED)}


def claim(db: Database, now: int) -> Tracking:
    """Return the tracking row and lock it against other writers; the first call starts the tracking.

    The caller holds a transaction.
    """
    db.execute(_CLAIM, (now,))
    row = db.objects(models.UptimeTracking).select_for_update().get()
    return Tracking(row.began_at, row.settled_at)


def settle_all(db: Database, now: int, *, tracking: bool) -> None:
    """Write the uptimes of all validators as of now; without tracking, all were online until now."""
    _write(db, uptimes(db), now, tracking=tracking)
    db.execute(_SETTLED, (now,))


def settle(db: Database, node_ids: Iterable[NodeID], now: int) -> None:
    """Write the uptimes of these nodes. Call this before they are connected or disconnected."""
    _write(db, uptimes(db, node_ids), now, tracking=True)


def settle_leaving(db: Database, node_ids: Collection[NodeID]) -> None:
    """Write the final uptimes of validators, for the block in which their staking period ends."""
    if not node_ids:
        return
    is_tracked = tracking(db) is not None
    for uptime in uptimes(db, node_ids):
        _write(db, [uptime], uptime.end, tracking=is_tracked)


def learn(db: Database, node_ids: Collection[NodeID], now: int) -> None:
    """Count the time until now as online for validators whose connections this node did not track until then."""
    if node_ids:
        _write(db, uptimes(db, node_ids), now, tracking=False)


def connect(db: Database, node_ids: Iterable[NodeID], now: int) -> None:
    """Record that nodes are connected from now on."""
    db.upsert(models.ConnectedNode, ("node_id", "since"), ((node_id, now) for node_id in node_ids))


def disconnect(db: Database, node_ids: Iterable[NodeID]) -> None:
    """Record that nodes are no longer connected; call `settle` first."""
    db.delete(models.ConnectedNode, ("node_id",), ((node_id,) for node_id in node_ids))


def _write(db: Database, uptimes: Iterable[Uptime], now: int, *, tracking: bool) -> None:
    settled = ((uptime, uptime.settled(now, tracking=tracking)) for uptime in uptimes)
    db.update(
        models.ValidatorUptime,
        ("staker",),
        _COLUMNS,
        (
            (after.up_duration, after.last_updated, after.tx_id)
            for before, after in settled
            if after != before
        ),
    )
