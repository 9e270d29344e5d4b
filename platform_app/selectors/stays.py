"""What became of stakers: all that was ever staked on a node."""

from typing import Any, NamedTuple

from chaindb import sql
from platform_app.models import Outcome, Phase
from primitives.ids import ID, NodeID

_HISTORY = """
SELECT position, tx_id, subnet_id, is_delegator, weight, start_time, end_time, potential_reward,
       phase, outcome, joined_height, left_height, left_time
FROM platform_app_staker WHERE node_id = %s AND position < %s ORDER BY position DESC LIMIT %s
"""

_LAST = (1 << 63) - 1


class Stay(NamedTuple):
    """What became of a staker so far; heights and times are None where it has not come to that."""

    position: int
    """Grows with time; stays of a node are in its order."""
    tx_id: ID
    subnet_id: ID
    is_delegator: bool
    weight: int
    start: int
    end: int
    potential_reward: int
    phase: Phase
    outcome: Outcome | None
    joined_height: int | None
    left_height: int | None
    left_time: int | None


def stays_of(node_id: NodeID, *, before: int = _LAST, limit: int = 100) -> list[Stay]:
    """Return all that was staked on a node, on any subnet, latest first, before a position."""
    return [_stay(row) for row in sql.rows(_HISTORY, (node_id, before, limit))]


def _stay(row: tuple[Any, ...]) -> Stay:
    position, tx_id, subnet_id, is_delegator, weight, start, end, reward, phase, outcome, *left = (
        row
    )
    return Stay(
        position, ID(bytes(tx_id)), ID(bytes(subnet_id)), bool(is_delegator), int(weight), start,
        end, int(reward), Phase(phase), None if outcome is None else Outcome(outcome), *left,
    )  # fmt: skip
