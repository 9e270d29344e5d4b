"""The proposal to reward a staker at its end: both outcomes, and the preferred one.

The rules are in pchain.md 7.3 and 7.4, those for auto-renewed validators in `auto_renewal`.

Unspecified: a validator's share of its delegators' rewards accrues and is paid when the validator
leaves, as since the reference's Cortina upgrade.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from platform_app.config import MILLION, Env, PlatformConfig
from platform_app.executor.auto_renewal import execute_period_end
from platform_app.executor.errors import AutoRenewalReason, TxStateReason
from platform_app.executor.rewards import lower_supply, owners_of_field, split, verified_staker
from platform_app.state.chain import ChainState, Diff
from platform_app.state.stakers import Staker
from platform_app.txs.base import Tx, TxStatus, UnsignedTx
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, RewardAutoRenewedValidatorTx
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
    RewardValidatorTx,
)
from platform_app.txs.syntax import verify_syntax
from primitives.ids import ID
from utxo.components import UTXO, OutputOwners, TransferableOutput, TransferOutput, utxos_of
from utxo.errors import InvalidTx


def staker_to_reward(state: ChainState) -> Staker | None:
    """Return the staker for which a proposal is due: the next to leave, if its end is chain time."""
    staker = next(state.stakers.current(), None)
    due = staker is not None and staker.end == state.clock.timestamp()
    return staker if due and staker and not staker.priority.is_permissioned else None


def proposal_for(staker: Staker, state: ChainState) -> UnsignedTx:
    """Return the proposal that is due for a staker, at chain time."""
    if _is_auto_renewed(staker, state):
        return RewardAutoRenewedValidatorTx(staker.tx_id, state.clock.timestamp())
    return RewardValidatorTx(staker.tx_id)


def _is_auto_renewed(staker: Staker, state: ChainState) -> bool:
    added = state.txs.get(staker.tx_id)
    return added is not None and isinstance(added.unsigned, AddAutoRenewedValidatorTx)


def required_uptime(config: PlatformConfig, start: int) -> int:
    """Return the fraction of its period, in millionths, that a validator of the Primary Network must be online.

    It is higher for periods that start at or after Helicon (ACP-267).

    Args:
        config: The network.
        start: The start of the period in Unix seconds.
    """
    is_helicon = start >= config.upgrades.helicon
    return config.helicon_uptime_requirement if is_helicon else config.uptime_requirement


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

    In both outcomes the staker leaves and its stake is returned, unless it is an auto-renewed validator.

    Raises:
        InvalidTx: It is no such proposal; it is not well formed; there are no current stakers; the staker named is
            not the next to leave; the staker's end is not reached yet; it is the proposal for the other kind of
            staker.
    """
    if not isinstance(tx.unsigned, RewardValidatorTx | RewardAutoRenewedValidatorTx):
        raise InvalidTx(TxStateReason.WRONG_TX_TYPE)
    verify_syntax(tx, env.config, env.asset_id)
    if isinstance(tx.unsigned, RewardAutoRenewedValidatorTx):
        execute_period_end(tx, tx.unsigned, commit, abort, env)
        return
    staker = verified_staker(tx.unsigned.tx_id, commit)
    if _is_auto_renewed(staker, commit):
        raise InvalidTx(
            AutoRenewalReason.AUTO_RENEWED_STAKER, kind=AddAutoRenewedValidatorTx.__name__
        )
    terms = _EndTerms.of(staker, commit)
    for diff in (commit, abort):
        for utxo in utxos_of(staker.tx_id, terms.stake_index, terms.stake):
            diff.utxos.produce(utxo)
    if staker.priority.is_delegator:
        _reward_delegator(staker, terms, commit)
    else:
        _reward_validator(staker, terms, commit, abort)
    lower_supply(staker, abort)
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
        elif isinstance(unsigned, AddAutoRenewedValidatorTx):
            owners = unsigned.validation_rewards_owner, unsigned.delegation_rewards_owner
            shares = unsigned.delegation_shares
        elif isinstance(unsigned, AddValidatorTx):
            owners, shares = (unsigned.rewards_owner,) * 2, unsigned.shares
        else:
            assert isinstance(unsigned, AddDelegatorTx | AddPermissionlessDelegatorTx)
            owners, shares = (unsigned.rewards_owner,) * 2, 0
        own, of_delegations = map(owners_of_field, owners)
        return cls(unsigned.stake, len(unsigned.outputs), own, of_delegations, shares)

    def reward(self, tx_id: ID, position: int, amount: int, owner: OutputOwners) -> UTXO:
        """Return a reward's UTXO, by its position after the stake."""
        index = self.stake_index + len(self.stake) + position
        return UTXO(tx_id, index, self.stake[0].asset_id, TransferOutput(amount, owner))


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
