"""Uptimes of validators of subnets and L1s, which their chains' nodes confirm to managers (etna.md 12.5).

A row has the seconds up to `last_updated`; later time counts while the node is connected and the validator is active. A
validator without a row has just begun, or this node has just begun to track the subnet.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple, Self

from chaindb.database import Database
from platform_app import models
from primitives.ids import ID, NodeID

LATE: Final = 120
"""Seconds after its start from which a validator without a row was not tracked before; rows are written more often."""

_COLUMNS: Final = ("validation_id", "up_duration", "last_updated")
_L1: Final = """
SELECT v.validation_id, v.node_id, v.weight, v.start_time, v.is_active,
       u.up_duration, u.last_updated, c.since
FROM platform_app_l1validator v
LEFT JOIN platform_app_subnetuptime u ON u.validation_id = v.validation_id
LEFT JOIN platform_app_connectednode c ON c.node_id = v.node_id
WHERE v.removed_height IS NULL AND v.subnet_id IN ({keys})
"""
_PERMISSIONED: Final = """
SELECT s.tx_id, s.node_id, s.weight, s.start_time, TRUE,
       u.up_duration, u.last_updated, c.since
FROM platform_app_staker s
LEFT JOIN platform_app_subnetuptime u ON u.validation_id = s.tx_id
LEFT JOIN platform_app_connectednode c ON c.node_id = s.node_id
WHERE s.phase < 3 AND s.phase = 2 AND NOT s.is_delegator AND s.subnet_id IN ({keys})
"""
_FORGET: Final = """
DELETE FROM platform_app_subnetuptime WHERE NOT EXISTS (
  SELECT 1 FROM platform_app_l1validator v
  WHERE v.validation_id = platform_app_subnetuptime.validation_id AND v.removed_height IS NULL
) AND NOT EXISTS (
  SELECT 1 FROM platform_app_staker s
  WHERE s.tx_id = platform_app_subnetuptime.validation_id AND s.phase < 3 AND s.phase = 2
)
"""


class SubnetValidatorUptime(NamedTuple):
    """The uptime of a current validator of a subnet; times in Unix seconds, durations in seconds."""

    validation_id: ID
    """For a validator that is not an L1's, the ID of the transaction that added it."""
    node_id: NodeID
    weight: int
    start: int
    is_active: bool
    is_l1: bool
    up_duration: int | None
    """Seconds online before `last_updated`; None: there is no row yet."""
    last_updated: int | None
    connected_since: int | None

    def known(self, now: int) -> tuple[int, int]:
        """Return the seconds online, and until when they were counted.

        The time before this node tracked the subnet counts as online, as in the reference.
        """
        if self.up_duration is not None and self.last_updated is not None:
            return self.up_duration, self.last_updated
        if now - self.start > LATE:
            return now - self.start, now
        return 0, self.start

    def up_until(self, now: int, *, tracking: bool = True) -> int:
        """Return the seconds that it was online until now; all seconds count while uptimes are not tracked."""
        before, counted_until = self.known(now)
        if not self.is_active:
            return before
        if not tracking:
            return before + max(0, now - counted_until)
        if self.connected_since is None:
            return before
        return before + max(0, now - max(self.connected_since, counted_until))

    def settled(self, now: int, *, tracking: bool = True) -> Self:
        """Return the same record with all seconds until now in `up_duration`."""
        _, counted_until = self.known(now)
        return self._replace(
            up_duration=self.up_until(now, tracking=tracking), last_updated=max(counted_until, now)
        )


def uptimes(db: Database, subnet_ids: Iterable[ID]) -> list[SubnetValidatorUptime]:
    """Return the uptimes of the current validators of subnets, in the order of their node IDs."""
    keys = sorted(subnet_ids)
    found = [_uptime(row, is_l1=True) for row in db.rows_by_keys(_L1, keys)]
    found += [_uptime(row, is_l1=False) for row in db.rows_by_keys(_PERMISSIONED, keys)]
    return sorted(found, key=lambda seen: seen.node_id)


def find(db: Database, subnet_id: ID, validation_id: ID) -> SubnetValidatorUptime | None:
    """Return the uptime of one current validator of a subnet; peers ask for it, so it reads one row."""
    params = (subnet_id, validation_id)
    for query, key, is_l1 in ((_L1, "v.validation_id", True), (_PERMISSIONED, "s.tx_id", False)):
        row = db.row(f"{query.replace('{keys}', '%s')} AND {key} = %s", params)
        if row is not None:
            return _uptime(row, is_l1=is_l1)
    return None


def _uptime(row: tuple[Any, ...], *, is_l1: bool) -> SubnetValidatorUptime:
    key, node_id, weight, start, is_active, *seen = row
    return SubnetValidatorUptime(
        ID(bytes(key)), NodeID(bytes(node_id)), int(weight), start, bool(is_active), is_l1, *seen
    )


def settle_all(db: Database, subnet_ids: Collection[ID], now: int, *, tracking: bool) -> None:
    """Write the uptimes of all validators of subnets as of now, and forget validators that have left."""
    if not subnet_ids:
        return
    _write(db, uptimes(db, subnet_ids), now, tracking=tracking)
    db.execute(_FORGET)


def settle(
    db: Database, subnet_ids: Collection[ID], node_ids: Collection[NodeID], now: int
) -> None:
    """Write the uptimes of these nodes. Call this before they are connected or disconnected."""
    if subnet_ids:
        changed = [seen for seen in uptimes(db, subnet_ids) if seen.node_id in node_ids]
        _write(db, changed, now, tracking=True)


def _write(
    db: Database, seen: Iterable[SubnetValidatorUptime], now: int, *, tracking: bool
) -> None:
    settled = (uptime.settled(now, tracking=tracking) for uptime in seen)
    db.upsert(
        models.SubnetUptime,
        _COLUMNS,
        [(after.validation_id, after.up_duration, after.last_updated) for after in settled],
    )
