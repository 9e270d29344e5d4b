"""What pages about stakers show besides their rows, read for a whole page at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaindb import clock, sql
from platform_app.models import Phase, RewardUTXO, Staker
from platform_app.selectors import stakers
from platform_app.store.uptime import Uptime
from primitives.ids import PRIMARY_NETWORK_ID, NodeID

_DELEGATED = """
SELECT node_id, COUNT(*), SUM(CAST(weight AS BIGINT)) FROM platform_app_staker
WHERE phase < 3 AND is_delegator AND phase = 2 AND subnet_id = %s AND node_id IN ({keys})
GROUP BY node_id
"""
"""The partial index `platform_delegators_of_node` has all that is asked here."""


@dataclass(frozen=True, slots=True)
class Delegated:
    """What is delegated to a current validator, in the smallest units."""

    count: int = 0
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one staker; None where the question does not arise."""

    now: int
    """The node's time, Unix seconds."""
    uptime: float | None = None
    """The part of its time that a current validator of the Primary Network was online."""
    delegated: Delegated | None = None
    paid: int | None = None
    """What a past staker was rewarded with, by all outputs together."""


def read(found: Sequence[Staker]) -> list[Facts]:
    """Return the facts about stakers, in their order, in at most four statements."""
    now = clock.now()
    validating = [
        one
        for one in found
        if one.phase == Phase.CURRENT
        and not one.is_delegator
        and one.subnet_id == PRIMARY_NETWORK_ID
    ]
    nodes = [one.node_id for one in validating]
    uptimes = stakers.uptimes(nodes) if nodes else {}
    delegated = _delegated(nodes)
    paid = _paid([one for one in found if one.phase == Phase.PAST])
    facts = {
        one.pk: Facts(
            now, _fraction(uptimes.get(one.node_id), now), delegated.get(one.node_id, Delegated())
        )
        for one in validating
    }
    return [facts.get(one.pk) or Facts(now, paid=paid.get(one.pk)) for one in found]


def _delegated(nodes: Sequence[NodeID]) -> dict[NodeID, Delegated]:
    return {
        NodeID(bytes(node_id)): Delegated(count, int(weight))
        for node_id, count, weight in sql.rows_by_keys(_DELEGATED, nodes, (PRIMARY_NETWORK_ID,))
    }


def _paid(left: Sequence[Staker]) -> dict[Any, int]:
    if not left:
        return {}
    sums: defaultdict[Any, int] = defaultdict(int)
    for one in left:
        sums[one.pk] = 0
    found = RewardUTXO.objects.filter(tx_id__in=[one.pk for one in left])
    for tx_id, amount in found.order_by("tx_id", "output_index").values_list("tx_id", "amount"):
        sums[tx_id] += amount
    return sums


def _fraction(seen: Uptime | None, now: int) -> float | None:
    # As long as nobody watches the peers, all time counts (`services.chain` rewards by the same).
    return None if seen is None else seen.fraction(now, tracking=False)
