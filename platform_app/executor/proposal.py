"""The proposal to reward a staker at its end: both outcomes, and the preferred one.

The rules are in pchain.md 7.3 and 7.4.

Unspecified: a validator's share of its delegators' rewards accrues and is paid when the validator
leaves, as since the reference's Cortina upgrade.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from platform_app.config import MILLION, Env, RewardConfig
from platform_app.executor.errors import TxStateReason, moment
from platform_app.state.chain import ChainState, Diff
from platform_app.state.stakers import Staker
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
    RewardValidatorTx,
)
from platform_app.txs.syntax import verify_syntax
from primitives.ids import ID
from primitives.uint64 import MAX
from utxo.components import UTXO, OutputOwners, Owner, TransferableOutput, TransferOutput, utxos_of
from utxo.errors import InvalidTx

_NANOSECONDS = 1_000_000_000


class Split(NamedTuple):
    """A delegator's reward, split into two parts."""

    delegatee: int
    """The validator's part."""
    delegator: int


def potential_reward(config: RewardConfig, *, supply: int, amount: int, duration: int) -> int:
    """Return the reward for an amount staked for a duration, given the supply before it.

    The three divisions, each rounded down, on nanoseconds, are part of the rule.
    """
    remaining = max(config.supply_cap - supply, 0)
    staked, period = duration * _NANOSECONDS, config.minting_period * _NANOSECONDS
    rates = config.max_consumption_rate - config.min_consumption_rate
    consumed = rates * staked + config.min_consumption_rate * period
    share = remaining * consumed * amount * staked // (period * MILLION)
    return min(share // supply // period, remaining)


def split(total: int, shares: int) -> Split:
    """Split a delegator's reward. The remainder of the division goes to the validator."""
    kept = MILLION - shares
    product = kept * total
    delegator = product // MILLION if product <= MAX else kept * (total // MILLION)
    return Split(delegatee=total - delegator, delegator=delegator)


def staker_to_reward(state: ChainState) -> Staker | None:
    """Return the staker for which a proposal is due: the next to leave, if its end is chain time."""
    staker = next(state.stakers.current(), None)
    due = staker is not None and staker.end == state.clock.timestamp()
    return staker if due and staker and not staker.priority.is_permissioned else None


def prefers_commit(uptime: float | None, requirement: int) -> bool:
    """Return whether a staker should be rewarded.

    Args:
        uptime: The fraction of its staking period that the node's Primary Network validator was online;
            None if unknown, which is not a reason to withhold a reward.
        requirement: The required fraction, in millionths.
    """
    return uptime is None or uptime >= requirement / MILLION


def execute_reward(tx: Tx, commit: Diff, abort: Diff, env: Env) -> None:
    """Execute both outcomes of a proposal, each on its diff; both diffs start with the same state.

    In both outcomes the staker leaves and its stake is returned.

    Raises:
        InvalidTx: It is not a RewardValidatorTx; it is not well formed; there are no current
            stakers; the staker named is not the next to leave; the staker's end is not reached yet.
    """
    if not isinstance(tx.unsigned, RewardValidatorTx):
        raise InvalidTx(TxStateReason.WRONG_TX_TYPE)
    verify_syntax(tx, env.config, env.asset_id)
    staker = _verified_staker(tx.unsigned.tx_id, commit)
    terms = _EndTerms.of(staker, commit)
    for diff in (commit, abort):
        for utxo in utxos_of(staker.tx_id, terms.stake_index, terms.stake):
            diff.utxos.produce(utxo)
    if staker.priority.is_delegator:
        _reward_delegator(staker, terms, commit)
    else:
        _reward_validator(staker, terms, commit, abort)
    _lower_supply(staker, abort)
    for diff, status in ((commit, TxStatus.COMMITTED), (abort, TxStatus.ABORTED)):
        diff.stakers.remove(staker)
        diff.txs.add(tx, status)


@dataclass(frozen=True, slots=True)
class _EndTerms:
    """The terms of a staking transaction that apply at the end of its staker."""

    stake: tuple[TransferableOutput, ...]
    stake_index: int
    """Index of the first UTXO that returns stake."""
    rewards_owner: OutputOwners
    delegation_rewards_owner: OutputOwners
    """The same as `rewards_owner` for a delegator."""
    shares: int
    """Zero for a delegator."""

    @classmethod
    def of(cls, staker: Staker, state: ChainState) -> Self:
        """Read the terms of a staker from the transaction that added it."""
        tx = state.txs.get(staker.tx_id)
        assert tx is not None, "the transaction that added a staker is accepted"
        unsigned = tx.unsigned
        if isinstance(unsigned, AddPermissionlessValidatorTx):
            owners = unsigned.validation_rewards_owner, unsigned.delegation_rewards_owner
            shares = unsigned.shares
        elif isinstance(unsigned, AddValidatorTx):
            owners, shares = (unsigned.rewards_owner,) * 2, unsigned.shares
        else:
            assert isinstance(unsigned, AddDelegatorTx | AddPermissionlessDelegatorTx)
            owners, shares = (unsigned.rewards_owner,) * 2, 0
        own, of_delegations = map(_owner, owners)
        return cls(unsigned.stake, len(unsigned.outputs), own, of_delegations, shares)

    def reward(self, tx_id: ID, position: int, amount: int, owner: OutputOwners) -> UTXO:
        """Return a reward's UTXO, by its position after the stake."""
        index = self.stake_index + len(self.stake) + position
        return UTXO(tx_id, index, self.stake[0].asset_id, TransferOutput(amount, owner))


def _owner(owner: Owner) -> OutputOwners:
    assert isinstance(owner, OutputOwners)
    return owner


def _verified_staker(tx_id: ID, state: ChainState) -> Staker:
    staker = next(state.stakers.current(), None)
    if staker is None:
        raise InvalidTx(TxStateReason.NO_STAKER)
    if staker.tx_id != tx_id:
        raise InvalidTx(TxStateReason.WRONG_STAKER, expected=staker.tx_id, got=tx_id)
    if staker.end != state.clock.timestamp():
        raise InvalidTx(
            TxStateReason.STAKER_NOT_DUE,
            tx_id=tx_id,
            timestamp=moment(state.clock.timestamp()),
            end=moment(staker.end),
        )
    return staker


def _reward_validator(staker: Staker, terms: _EndTerms, commit: Diff, abort: Diff) -> None:
    """Pay the reward if committed, and the accrued delegation rewards in either case."""
    accrued = commit.stakers.delegatee_reward(staker.tx_id)
    paid = [(staker.potential_reward, terms.rewards_owner)]
    owed = [(accrued, terms.delegation_rewards_owner)]
    _pay(staker, terms, (*paid, *owed), commit)
    _pay(staker, terms, owed, abort)


def _reward_delegator(staker: Staker, terms: _EndTerms, commit: Diff) -> None:
    """Pay the delegator's part if committed, and add the validator's part to its accrued rewards."""
    validator = commit.stakers.validator(staker.subnet_id, staker.node_id)
    assert validator is not None, "delegators leave before their validator"
    parts = split(staker.potential_reward, _EndTerms.of(validator, commit).shares)
    _pay(staker, terms, ((parts.delegator, terms.rewards_owner),), commit)
    if parts.delegatee:
        accrued = commit.stakers.delegatee_reward(validator.tx_id)
        commit.stakers.set_delegatee_reward(validator.tx_id, accrued + parts.delegatee)


def _pay(
    staker: Staker, terms: _EndTerms, amounts: Iterable[tuple[int, OutputOwners]], diff: Diff
) -> None:
    """Produce an output for each non-zero amount, with consecutive indices."""
    owed = [(amount, owner) for amount, owner in amounts if amount]
    for position, (amount, owner) in enumerate(owed):
        utxo = terms.reward(staker.tx_id, position, amount, owner)
        diff.utxos.produce(utxo)
        diff.utxos.add_reward(staker.tx_id, utxo)


def _lower_supply(staker: Staker, abort: Diff) -> None:
    """Remove the reward from the supply, to which it was added when it was calculated."""
    supply = abort.supplies.get(staker.subnet_id)
    assert supply is not None
    abort.supplies.set(staker.subnet_id, supply - staker.potential_reward)
