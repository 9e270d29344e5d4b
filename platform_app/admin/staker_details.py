"""Data for pages about stakers that is not in their rows, read for a whole page together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaindb import clock
from platform_app.apps import platform_chain
from platform_app.models import Phase, Staker, ValidatorUptime
from platform_app.selectors import auto_renewal, stakers
from platform_app.store.uptime import Uptime
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_DELEGATED = """
SELECT node_id, COUNT(*), SUM(CAST(weight AS BIGINT)) FROM platform_app_staker
WHERE phase < 3 AND is_delegator AND phase = 2 AND subnet_id = %s AND node_id IN ({keys})
GROUP BY node_id
"""
"""The partial index `platform_delegators_of_node` covers this query."""


@dataclass(frozen=True, slots=True)
class DelegationTotals:
    """The delegations to a current validator, in the smallest units."""

    count: int = 0
    weight: int = 0


@dataclass(frozen=True, slots=True)
class StakerDetails:
    """Data about one staker; None if it does not apply."""

    now: int
    """The node's time in Unix seconds."""
    uptime: float | None = None
    """The fraction of its time that a Primary Network validator was online; for a past one, the final fraction."""
    unseen: bool = False
    """Whether it is such a validator and was never observed online: then its uptime is not an observation."""
    tracked: bool = False
    """Whether connections are tracked; otherwise all validators count as online."""
    connected_since: int | None = None
    """When its node connected, in Unix seconds; None if it is not connected."""
    delegated: DelegationTotals | None = None
    paid: int | None = None
    """The total reward of a past staker, over all outputs."""


def read(shown: Sequence[Staker]) -> list[StakerDetails]:
    """Return the data about stakers, in their order, in at most eight statements."""
    now = clock.now()
    past = [staker for staker in shown if staker.phase == Phase.PAST]
    details = {
        **_of_validating([staker for staker in shown if _is_validating(staker)], now),
        **_of_past(past, now),
    }
    return [details.get(staker.pk, StakerDetails(now)) for staker in shown]


def _is_validating(staker: Staker) -> bool:
    """Return whether a staker is a current validator of the Primary Network."""
    primary = staker.subnet_id == PRIMARY_NETWORK_ID and not staker.is_delegator
    return primary and staker.phase == Phase.CURRENT


def _of_validating(validating: Sequence[Staker], now: int) -> dict[Any, StakerDetails]:
    if not validating:
        return {}
    nodes = [staker.node_id for staker in validating]
    uptimes, since, delegated = (
        stakers.uptimes(platform_chain(), nodes),
        stakers.tracked_since(platform_chain()),
        _delegated(nodes),
    )
    details = {}
    for staker in validating:
        seen = uptimes.get(staker.node_id)
        uptime = None if seen is None else seen.observed(now, since)
        details[staker.pk] = StakerDetails(
            now,
            uptime,
            unseen=uptime is None,
            tracked=since is not None,
            connected_since=None if seen is None else seen.connected_since,
            delegated=delegated.get(staker.node_id, DelegationTotals()),
        )
    return details


def _of_past(left: Sequence[Staker], now: int) -> dict[Any, StakerDetails]:
    paid, uptimes = (
        auto_renewal.paid_to(platform_chain(), left),
        _last_uptimes([staker for staker in left if not staker.is_delegator]),
    )
    return {
        staker.pk: StakerDetails(
            now,
            uptimes.get(staker.pk),
            unseen=staker.pk in uptimes and uptimes[staker.pk] is None,
            paid=paid[staker.pk],
        )
        for staker in left
    }


def _last_uptimes(left: Sequence[Staker]) -> dict[Any, float | None]:
    """Return the fraction of their time that validators were online when they left; None if never observed."""
    if not left:
        return {}
    periods = {staker.pk: staker for staker in left}
    uptimes = ValidatorUptime.objects.filter(staker_id__in=list(periods))
    rows = list(uptimes.values_list("staker_id", "up_duration", "last_updated"))
    since = stakers.tracked_since(platform_chain()) if rows else None
    return {
        tx_id: Uptime(
            ID(bytes(tx_id)),
            periods[tx_id].node_id,
            periods[tx_id].start_time,
            until,
            seconds,
            until,
            None,
        ).observed(until, since)
        for tx_id, seconds, until in rows
    }


def _delegated(nodes: Sequence[NodeID]) -> dict[NodeID, DelegationTotals]:
    return {
        NodeID(bytes(node_id)): DelegationTotals(count, int(weight))
        for node_id, count, weight in platform_chain().db.rows_by_keys(
            _DELEGATED, nodes, (PRIMARY_NETWORK_ID,)
        )
    }
