"""How long validators of the Primary Network were online (pchain.md 7.5).

Time before this node began to look counts as online.
"""

from collections.abc import Iterable
from typing import NamedTuple

from chaindb import bulk, sql
from platform_app import models
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_COLUMNS = ("up_duration", "last_updated", "connected_since")

_UPTIMES = """
SELECT s.tx_id, s.node_id, s.start_time, u.up_duration, u.last_updated, u.connected_since
FROM platform_app_staker s JOIN platform_app_validatoruptime u ON u.staker_id = s.tx_id
WHERE s.phase < 3 AND s.phase = 2 AND NOT s.is_delegator AND s.subnet_id = %s
"""
_OF_NODES = _UPTIMES + "AND s.node_id IN ({keys})"


class Uptime(NamedTuple):
    """What is known of a current validator; times in Unix seconds, durations in seconds."""

    tx_id: ID
    node_id: NodeID
    start: int
    up_duration: int
    """Before `last_updated`."""
    last_updated: int
    connected_since: int | None

    def up_until(self, now: int, *, tracking: bool = True) -> int:
        """Return the seconds that it was online until now; all of them while nobody looks."""
        if not tracking:
            return self.up_duration + max(0, now - self.last_updated)
        if self.connected_since is None:
            return self.up_duration
        seen_from = max(self.connected_since, self.last_updated)
        return self.up_duration + max(0, now - seen_from)

    def fraction(self, now: int, *, tracking: bool = True) -> float:
        """Return the part of its time that it was online, 1 when that has just begun."""
        total = now - self.start
        if total <= 0:
            return 1.0
        return min(1.0, self.up_until(now, tracking=tracking) / total)


def uptimes(node_ids: Iterable[NodeID] | None = None) -> list[Uptime]:
    """Return the uptimes of current validators of the Primary Network, of these nodes or of all."""
    if node_ids is None:
        found = sql.rows(_UPTIMES, (PRIMARY_NETWORK_ID,))
    else:
        found = sql.rows_by_keys(_OF_NODES, list(node_ids), (PRIMARY_NETWORK_ID,))
    return [
        Uptime(ID(bytes(tx_id)), NodeID(bytes(node_id)), *numbers)
        for tx_id, node_id, *numbers in found
    ]


def begin(now: int) -> None:
    """Begin to look: until now everybody counts as online, from now on who is connected."""
    _write(
        one._replace(
            up_duration=one.up_until(now, tracking=False),
            last_updated=max(now, one.last_updated),
            connected_since=None,
        )
        for one in uptimes()
    )


def connect(node_ids: Iterable[NodeID], now: int) -> None:
    """Note that nodes are connected from now on; those that are already stay so."""
    _write(
        one._replace(connected_since=now)
        for one in uptimes(node_ids)
        if one.connected_since is None
    )


def disconnect(node_ids: Iterable[NodeID], now: int) -> None:
    """Note that nodes are no longer connected, and how long they were."""
    _write(
        one._replace(up_duration=one.up_until(now), last_updated=now, connected_since=None)
        for one in uptimes(node_ids)
        if one.connected_since is not None
    )


def _write(changed: Iterable[Uptime]) -> None:
    bulk.update(
        models.ValidatorUptime,
        ("staker",),
        _COLUMNS,
        ((one.up_duration, one.last_updated, one.connected_since, one.tx_id) for one in changed),
    )
