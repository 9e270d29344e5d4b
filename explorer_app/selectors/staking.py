"""Validators and delegators for pages, the next ends of staking periods, and supply and stake over time."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from chaindb import clock
from chaindb.database import Rows
from platform_app.chain import PlatformChain
from platform_app.memory.stakers import ValidatorRecord
from platform_app.models import RenewedPeriod, Staker
from platform_app.models.staking import Outcome, Phase
from platform_app.selectors import accepted, auto_renewal, stakers
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

PAGE: Final = 50
CHARTED: Final = 60
"""Points in a small chart."""

MAX_POINTS: Final = 400
"""Points in a large chart."""

_BRANCH: Final = """
SELECT * FROM (
    SELECT start_time, left_time, weight, potential_reward, outcome FROM platform_app_staker
    WHERE is_delegator = %s AND subnet_id = %s AND phase = %s ORDER BY position DESC LIMIT %s
) part
"""
_RENEWED: Final = """
SELECT * FROM (
    SELECT start_time, end_time, weight, potential_reward, CAST(NULL AS INTEGER)
    FROM platform_app_renewedperiod
    WHERE left_height > 0 ORDER BY left_height DESC LIMIT %s
) part
"""
_LATEST: Final = " UNION ALL ".join([*[_BRANCH] * 4, _RENEWED])
"""An index provides the order in each branch, because the table may have a hundred thousand rows."""


class ValidatorRow(NamedTuple):
    """A current validator."""

    rank: int
    """Rank by stake, from 1."""
    validator: ValidatorRecord
    node: str
    """Its NodeID."""
    stake: int
    """Own stake and delegations, in the smallest units."""
    uptime: float | None
    """The share of its period in which it was online; None if this node has not observed it."""
    capacity: int
    """The stake that can still be delegated to it."""


class PeriodRow(NamedTuple):
    """A staking period, in any phase."""

    row: Staker | RenewedPeriod
    phase: str
    outcome: str
    paid: int | None
    """The reward that was paid."""
    restaked: int = 0
    """The reward that was added to the stake of the next period."""


class Point(NamedTuple):
    """A value at a time."""

    time: int
    """Unix seconds."""
    value: int


def validators(chain: PlatformChain, subnet_id: ID = PRIMARY_NETWORK_ID) -> list[ValidatorRow]:
    """Return the current validators, ordered by stake, the largest first."""
    current = stakers.current_validators(chain, subnet_id)
    primary = subnet_id == PRIMARY_NETWORK_ID
    uptimes = stakers.uptimes(chain) if primary else {}
    since = stakers.tracked_since(chain) if primary else None
    now = clock.now()
    ordered = sorted(
        current.validators, key=lambda validator: (-_stake(validator), validator.node_id)
    )
    return [
        ValidatorRow(
            rank,
            validator,
            str(validator.node_id),
            _stake(validator),
            uptimes[validator.node_id].observed(now, since)
            if validator.node_id in uptimes
            else None,
            _capacity(chain, validator) if primary else 0,
        )
        for rank, validator in enumerate(ordered, 1)
    ]


def ending(chain: PlatformChain, *, after: int = 0, count: int = PAGE) -> list[Staker]:
    """Return current stakers in the order in which their periods end, starting at an offset."""
    rows = chain.db.objects(Staker).filter(phase__lt=3).filter(phase=Phase.CURRENT)
    return list(rows.order_by("end_time", "priority", "tx_id")[after : after + count])


def periods(
    chain: PlatformChain, node_id: NodeID, *, delegators: bool, count: int
) -> list[PeriodRow]:
    """Return a node's periods as a validator, or those of its delegators, the latest first."""
    rows = chain.db.objects(Staker).filter(node_id=node_id, is_delegator__in=[delegators])
    stakers = list(rows.order_by("-position")[:count])
    found = _with_rewards(chain, stakers)
    if delegators:
        return found
    earlier = _renewed(chain, [staker.pk for staker in stakers], count)
    return [period for last in found for period in (last, *earlier.get(last.row.pk, ()))][:count]


def period_of(chain: PlatformChain, tx_id: ID) -> PeriodRow | None:
    """Return the staking period that a transaction started."""
    staker = chain.db.objects(Staker).filter(pk=tx_id).first()
    return None if staker is None else _with_rewards(chain, [staker])[0]


def supply(chain: PlatformChain) -> int:
    """Return the supply of the staking asset in the smallest units, including potential rewards."""
    return accepted.supply(chain, PRIMARY_NETWORK_ID) or 0


def stake_over_time(chain: PlatformChain) -> list[Point]:
    """Return the stake of the Primary Network after each of its last changes, at most four hundred."""
    moves: list[tuple[int, int]] = []
    for start, left, weight, _, _ in _latest(chain):
        moves.append((start, int(weight)))
        if left is not None:
            moves.append((left, -int(weight)))
    return _sums(moves, stakers.current_validators(chain).weight)


def supply_over_time(chain: PlatformChain) -> list[Point]:
    """Return the supply after each of its last changes, at most four hundred.

    A reward is part of the supply from the start of the staking period, and is removed if it is not paid.
    """
    moves: list[tuple[int, int]] = []
    for start, left, _, reward, outcome in _latest(chain):
        moves.append((start, int(reward)))
        if left is not None and outcome == Outcome.UNREWARDED:
            moves.append((left, -int(reward)))
    return _sums(moves, supply(chain))


def _latest(chain: PlatformChain) -> Rows:
    """Return the latest staking periods of the Primary Network, current and past."""
    params: list[object] = []
    for is_delegator in (False, True):
        for phase in (Phase.CURRENT, Phase.PAST):
            params += [is_delegator, PRIMARY_NETWORK_ID, phase.value, MAX_POINTS]
    return chain.db.rows(_LATEST, [*params, MAX_POINTS])


def _sums(moves: list[tuple[int, int]], now: int) -> list[Point]:
    """Return the values after each change, oldest first, calculated backwards from the current value."""
    moves.sort()
    sums = accumulate((change for _, change in moves), initial=now - sum(by for _, by in moves))
    next(sums)
    return [Point(time, value) for (time, _), value in zip(moves, sums, strict=True)][-MAX_POINTS:]


def _stake(validator: ValidatorRecord) -> int:
    return validator.weight + validator.delegator_weight


def _capacity(chain: PlatformChain, validator: ValidatorRecord) -> int:
    config = chain.config
    maximum = min(config.max_validator_stake, validator.weight * config.max_weight_factor)
    return max(0, maximum - _stake(validator))


def _with_rewards(chain: PlatformChain, stakers: Sequence[Staker]) -> list[PeriodRow]:
    past = [period for period in stakers if period.phase == Phase.PAST]
    paid = auto_renewal.paid_to(chain, past)
    return [
        PeriodRow(
            period,
            str(period.get_phase_display()),
            "" if period.outcome is None else str(period.get_outcome_display()),
            paid.get(period.pk),
        )
        for period in stakers
    ]


def _renewed(chain: PlatformChain, tx_ids: Sequence[ID], count: int) -> dict[ID, list[PeriodRow]]:
    """Return the periods of auto-renewed validators that another one followed, the latest first."""
    found = auto_renewal.renewed_periods(chain, tx_ids, count=count)
    paid = auto_renewal.paid_by(chain, [period.reward_tx_id for period in found])
    periods: dict[ID, list[PeriodRow]] = {}
    for period in found:
        rewards = period.potential_reward + period.delegatee_reward
        out = paid[period.reward_tx_id]
        row = PeriodRow(period, str(Phase.PAST.label), "renewed", out, rewards - out)
        periods.setdefault(period.staker_id, []).append(row)
    return periods
