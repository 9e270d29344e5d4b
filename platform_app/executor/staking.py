"""Rules for validators and delegators of the Primary Network, and the limits of delegation (pchain.md 5.4.3).

Unspecified: two sets of rules of the reference implementation are combined. A staker whose start is in the
future waits in the pending set, as before the Durango upgrade. With any other start, including 0, the staker
starts immediately, at chain time. That applies to every kind of staker. The limit on how far ahead a
start may be is checked last. If Durango's rules apply (`PlatformConfig.durango`), the start is ignored, and
every staker starts immediately. Subnets have no permissionless stakers, because TransformSubnetTx is
rejected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from platform_app.config import Env, PlatformConfig
from platform_app.executor.clock import promote
from platform_app.executor.errors import StakerReason, TxStateReason, duration
from platform_app.executor.spend import refused_as, transfer, verify_spend
from platform_app.state.chain import ChainState, Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import ProofOfPossession, Signer, StakingPeriod, Tx
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.uint64 import MAX
from utxo.components import TransferableOutput
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
    changes = [_Change(staker.start, is_removal=False, weight=staker.weight) for staker in joining]
    changes += [
        _Change(staker.end, is_removal=True, weight=staker.weight)
        for staker in leaving
        if staker.end < last
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


def execute_add_validator(tx: Tx, unsigned: AddValidatorTx, diff: Diff, env: Env) -> None:
    """Add a validator, current or pending.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; its stake or its fee is
            not covered.
    """
    config, now = env.config, diff.clock.timestamp()
    priority = Priority.PRIMARY_VALIDATOR_PENDING
    staker = staker_of(tx, unsigned.validator, now, config, priority=priority)
    verify_validator_terms(staker.weight, unsigned.shares, config)
    least = min_validator_duration(config, now)
    verify_duration(staker.end - staker.start, config, least=least)
    if diff.stakers.validator(PRIMARY_NETWORK_ID, staker.node_id):
        raise InvalidTx(StakerReason.ALREADY_VALIDATOR, node_id=staker.node_id)
    verify_funds(tx, diff, env, unsigned.stake)
    verify_start_not_too_far(staker.start, now, config)
    transfer(tx, diff)
    begin_or_wait(staker, diff, config)


def execute_add_delegator(tx: Tx, unsigned: AddDelegatorTx, diff: Diff, env: Env) -> None:
    """Add a delegator, current or pending.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; its stake or its fee is
            not covered.
    """
    config, now = env.config, diff.clock.timestamp()
    priority = Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING
    delegator = staker_of(tx, unsigned.validator, now, config, priority=priority)
    verify_duration(delegator.end - delegator.start, config)
    _verify_delegator_stake(delegator.weight, config)
    validator = diff.stakers.validator(PRIMARY_NETWORK_ID, delegator.node_id)
    if validator is None:
        raise InvalidTx(StakerReason.PRIMARY_VALIDATOR_MISSING, node_id=delegator.node_id)
    limit = scheduled_limit(validator, config)
    _verify_delegation(diff, delegator, validator, limit=limit)
    verify_funds(tx, diff, env, unsigned.stake)
    verify_start_not_too_far(delegator.start, now, config)
    transfer(tx, diff)
    begin_or_wait(delegator, diff, config)


def execute_add_permissionless_validator(
    tx: Tx, unsigned: AddPermissionlessValidatorTx, diff: Diff, env: Env
) -> None:
    """Add a validator, current or pending.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; its stake or its fee is
            not covered.
    """
    priority, now = Priority.PRIMARY_VALIDATOR_PENDING, diff.clock.timestamp()
    staker = staker_of(tx, unsigned.validator, now, env.config, priority=priority)
    staker = _with_key(staker, unsigned.signer)
    _verify_transformed(unsigned.subnet_id)
    verify_validator_terms(staker.weight, unsigned.shares, env.config)
    least = min_validator_duration(env.config, now)
    verify_duration(staker.end - staker.start, env.config, least=least)
    _verify_asset(unsigned.stake, env.asset_id)
    if diff.stakers.validator(unsigned.subnet_id, staker.node_id):
        raise InvalidTx(
            StakerReason.DUPLICATE_VALIDATOR, node_id=staker.node_id, subnet_id=unsigned.subnet_id
        )
    verify_funds(tx, diff, env, unsigned.stake)
    verify_start_not_too_far(staker.start, now, env.config)
    transfer(tx, diff)
    begin_or_wait(staker, diff, env.config)


def execute_add_permissionless_delegator(
    tx: Tx, unsigned: AddPermissionlessDelegatorTx, diff: Diff, env: Env
) -> None:
    """Add a delegator, current or pending.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; its stake or its fee is
            not covered.
    """
    priority, now = Priority.PRIMARY_DELEGATOR_PENDING, diff.clock.timestamp()
    staker = staker_of(tx, unsigned.validator, now, env.config, priority=priority)
    _verify_transformed(unsigned.subnet_id)
    _verify_delegator_stake(staker.weight, env.config)
    verify_duration(staker.end - staker.start, env.config)
    _verify_asset(unsigned.stake, env.asset_id)
    validator = diff.stakers.validator(unsigned.subnet_id, staker.node_id)
    if validator is None:
        raise InvalidTx(
            StakerReason.DELEGATEE_MISSING, node_id=staker.node_id, subnet_id=unsigned.subnet_id
        )
    limit = permissionless_limit(validator, env.config)
    _verify_delegation(diff, staker, validator, limit=limit)
    verify_funds(tx, diff, env, unsigned.stake)
    verify_start_not_too_far(staker.start, now, env.config)
    transfer(tx, diff)
    begin_or_wait(staker, diff, env.config)


def staker_of(
    tx: Tx,
    validator: StakingPeriod,
    timestamp: int,
    config: PlatformConfig,
    *,
    priority: Priority,
    subnet_id: ID = PRIMARY_NETWORK_ID,
) -> Staker:
    """Return the record of a staker before it starts.

    Args:
        tx: The transaction that adds it.
        validator: The staking period in that transaction.
        timestamp: Chain time, which is its start unless it may wait for a later one.
        config: The network.
        priority: Its priority while it is pending.
        subnet_id: The subnet that it stakes on.
    """
    start = timestamp if config.durango else max(validator.start, timestamp)
    return Staker(
        tx_id=tx.tx_id,
        node_id=validator.node_id,
        subnet_id=subnet_id,
        weight=validator.weight,
        start=start,
        end=validator.end,
        potential_reward=0,
        priority=priority,
    )


def begin_or_wait(staker: Staker, diff: Diff, config: PlatformConfig) -> None:
    """Put a staker into the pending set if its start is in the future, else into the current set."""
    if staker.start > diff.clock.timestamp():
        diff.stakers.put(staker)
    else:
        promote(staker, diff, config)


def min_validator_duration(config: PlatformConfig, timestamp: int) -> int:
    """Return the minimum staking period of a validator of the Primary Network, in seconds (ACP-273)."""
    is_helicon = timestamp >= config.upgrades.helicon
    return config.helicon_min_stake_duration if is_helicon else config.min_stake_duration


def verify_duration(duration: int, config: PlatformConfig, *, least: int | None = None) -> None:
    """Check the length of a staking period.

    Args:
        duration: Seconds.
        config: The network.
        least: Another minimum than that of delegators and of validators of subnets.

    Raises:
        InvalidTx: It is shorter than the minimum; it is longer than the network's maximum.
    """
    if duration < (config.min_stake_duration if least is None else least):
        raise InvalidTx(StakerReason.PERIOD_TOO_SHORT)
    if duration > config.max_stake_duration:
        raise InvalidTx(StakerReason.PERIOD_TOO_LONG)


def verify_start_not_too_far(start: int, timestamp: int, config: PlatformConfig) -> None:
    """Check that a staking period does not start too far in the future.

    Raises:
        InvalidTx: The start is later than the network allows.
    """
    if start > timestamp + config.max_start_ahead:
        raise InvalidTx(StakerReason.START_TOO_FAR_AHEAD, limit=duration(config.max_start_ahead))


def verify_period_within(staker: Staker, validator: Staker) -> None:
    """Check that a staking period is within that of the validator that it depends on.

    Raises:
        InvalidTx: It starts before or ends after the validator's.
    """
    if not validator.start <= staker.start <= staker.end <= validator.end:
        raise InvalidTx(StakerReason.PERIOD_MISMATCH)


def _with_key(staker: Staker, signer: Signer) -> Staker:
    key = signer.public_key if isinstance(signer, ProofOfPossession) else None
    return replace(staker, public_key=key)


def _verify_transformed(subnet_id: ID) -> None:
    if subnet_id != PRIMARY_NETWORK_ID:
        raise InvalidTx(StakerReason.SUBNET_NOT_TRANSFORMED)


def verify_validator_terms(weight: int, shares: int, config: PlatformConfig) -> None:
    """Check the stake of a validator of the Primary Network and its delegation fee.

    Raises:
        InvalidTx: The stake is too small or too large; the fee is too low.
    """
    if weight < config.min_validator_stake:
        raise InvalidTx(StakerReason.STAKE_TOO_LOW)
    if weight > config.max_validator_stake:
        raise InvalidTx(StakerReason.STAKE_TOO_HIGH)
    if shares < config.min_delegation_fee:
        raise InvalidTx(StakerReason.DELEGATION_FEE_TOO_LOW)


def _verify_delegator_stake(weight: int, config: PlatformConfig) -> None:
    if weight < config.min_delegator_stake:
        raise InvalidTx(StakerReason.STAKE_TOO_LOW)


def _verify_asset(stake: Sequence[TransferableOutput], asset_id: ID) -> None:
    if stake[0].asset_id != asset_id:
        raise InvalidTx(StakerReason.WRONG_STAKED_ASSET, expected=asset_id, got=stake[0].asset_id)


def _verify_delegation(diff: Diff, delegator: Staker, validator: Staker, *, limit: int) -> None:
    verify_period_within(delegator, validator)
    weight = greatest_weight(diff, validator, start=delegator.start, end=delegator.end)
    if weight + delegator.weight > limit:
        raise InvalidTx(StakerReason.OVER_DELEGATED)


def verify_funds(tx: Tx, diff: Diff, env: Env, stake: Sequence[TransferableOutput]) -> None:
    """Check that a transaction covers its outputs, its stake and its fee.

    Raises:
        InvalidTx: It does not.
    """
    with refused_as(TxStateReason.FLOW_CHECK_FAILED):
        verify_spend(tx, diff, env, more_outputs=stake)
