"""The total stake of a validator during a delegation, and its limits (pchain.md 5.4.3)."""

from collections.abc import Iterator
from typing import NamedTuple

from platform_app.config import PlatformConfig
from platform_app.executor.errors import StakerReason
from platform_app.state.chain import ChainState
from platform_app.state.staker import Staker
from primitives.uint64 import MAX
from utxo.errors import InvalidTx


class _Change(NamedTuple):
    """An increase or decrease of weight at a time. Sorts by time, additions first."""

    time: int
    is_removal: bool
    weight: int


def greatest_weight(state: ChainState, validator: Staker, *, start: int, end: int) -> int:
    """Return the greatest weight of a validator during a period, delegators included.

    This is also the result of platform.getMaxStakeAmount. Weight that ends at `start` and weight
    that starts at `end` both count.
    """
    weight = validator.weight
    joining: list[Staker] = []
    leaving: list[Staker] = []
    for delegator in state.stakers.delegators(validator.subnet_id, validator.node_id):
        if delegator.end < start:
            continue
        # Compare times first: there may be ten thousand delegators, and few are pending.
        if delegator.start < start or not delegator.priority.is_pending:
            weight += delegator.weight
        elif delegator.start <= end:
            joining.append(delegator)
        else:
            continue
        leaving.append(delegator)
    # Without joining delegators the weight only decreases.
    return max(_weights(weight, joining, leaving)) if joining else weight


def _weights(weight: int, joining: list[Staker], leaving: list[Staker]) -> Iterator[int]:
    """Yield the weights that a validator has, from an initial weight until the last delegator joins."""
    yield weight
    last = max(staker.start for staker in joining)
    changes = [_Change(item.start, is_removal=False, weight=item.weight) for item in joining]
    changes += [
        _Change(other.end, is_removal=True, weight=other.weight)
        for other in leaving
        if other.end < last
    ]
    for change in sorted(changes):
        weight += -change.weight if change.is_removal else change.weight
        yield weight


def scheduled_limit(validator: Staker, config: PlatformConfig) -> int:
    """Return the maximum weight that an AddDelegatorTx may give a validator.

    Raises:
        InvalidTx: The multiple of its own weight does not fit into 64 bits.
    """
    multiple = config.max_weight_factor * validator.weight
    if multiple > MAX:
        raise InvalidTx(StakerReason.STAKE_LIMIT_OVERFLOW)
    return min(multiple, config.max_validator_stake)


def permissionless_limit(validator: Staker, config: PlatformConfig) -> int:
    """Return the maximum weight that an AddPermissionlessDelegatorTx may give a validator."""
    return min(config.max_weight_factor * validator.weight, config.max_validator_stake)
