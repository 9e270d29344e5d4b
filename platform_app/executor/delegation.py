"""How much stake a validator has, and may have, while it is delegated to (pchain.md 5.4.3)."""

from collections.abc import Iterator
from typing import NamedTuple

from platform_app.config import PlatformConfig
from platform_app.executor import staking_errors as errors
from platform_app.state.chain import ChainState
from platform_app.state.staker import Staker
from primitives.uint64 import MAX


class _Change(NamedTuple):
    """From a moment on there is more or less weight. Sorts by time, additions first."""

    time: int
    is_removal: bool
    weight: int


def greatest_weight(state: ChainState, validator: Staker, *, start: int, end: int) -> int:
    """Return the greatest weight that a validator has, delegators included, in a period.

    What platform.getMaxStakeAmount answers, too. Weight that leaves at `start` still counts, and
    weight that comes at `end` does so already.
    """
    weight = validator.weight
    joining: list[Staker] = []
    leaving: list[Staker] = []
    for delegator in state.delegators(validator.subnet_id, validator.node_id):
        if delegator.end < start:
            continue
        # Times first: there may be ten thousand of them, and few are still to come.
        if delegator.start < start or not delegator.priority.is_pending:
            weight += delegator.weight
        elif delegator.start <= end:
            joining.append(delegator)
        else:
            continue
        leaving.append(delegator)
    # Who only leaves makes nothing greater.
    return max(_weights(weight, joining, leaving)) if joining else weight


def _weights(weight: int, joining: list[Staker], leaving: list[Staker]) -> Iterator[int]:
    """Walk the weights that a validator has, from one on, until the last delegator has come."""
    yield weight
    last = max(one.start for one in joining)
    changes = [_Change(one.start, is_removal=False, weight=one.weight) for one in joining]
    changes += [
        _Change(one.end, is_removal=True, weight=one.weight) for one in leaving if one.end < last
    ]
    for change in sorted(changes):
        weight += -change.weight if change.is_removal else change.weight
        yield weight


def scheduled_limit(validator: Staker, config: PlatformConfig) -> int:
    """Return the weight that an AddDelegatorTx may bring a validator to.

    Raises:
        StakeLimitOverflow: The multiple of its own weight does not fit into 64 bits.
    """
    multiple = config.max_weight_factor * validator.weight
    if multiple > MAX:
        raise errors.StakeLimitOverflow
    return min(multiple, config.max_validator_stake)


def permissionless_limit(validator: Staker, config: PlatformConfig) -> int:
    """Return the weight that an AddPermissionlessDelegatorTx may bring a validator to."""
    return min(config.max_weight_factor * validator.weight, config.max_validator_stake)
