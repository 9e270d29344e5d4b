"""Rules for auto-renewed validators, which begin another staking period when one ends (etna.md 9; ACP-236).

At the end of each period a block proposes the validator's reward. If it is committed and the validator is not about to
leave, a part of the rewards is added to its stake, the rest is paid out, and the next period begins. The validator
keeps the ID of the transaction that added it, so outputs with rewards belong to the transactions that propose them.
"""

from dataclasses import dataclass, replace

from platform_app.config import Env
from platform_app.executor.clock import promote
from platform_app.executor.errors import AutoRenewalReason, TxStateReason
from platform_app.executor.rewards import (
    lower_supply,
    owners_of_field,
    potential_reward,
    rates_at,
    split,
    verified_staker,
)
from platform_app.executor.spend import authorize_owner, refused_as, transfer, verify_spend
from platform_app.executor.staking import (
    min_validator_duration,
    verify_duration,
    verify_funds,
    verify_validator_terms,
)
from platform_app.state.chain import Diff
from platform_app.state.stakers import AutoRenewal, Priority, Staker
from platform_app.txs.base import ProofOfPossession, Tx, TxStatus
from platform_app.txs.l1 import (
    AddAutoRenewedValidatorTx,
    RewardAutoRenewedValidatorTx,
    SetAutoRenewedValidatorConfigTx,
)
from platform_app.txs.type_syntax import total_of
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from utxo.components import UTXO, TransferOutput, utxos_of
from utxo.errors import InvalidTx


def execute_add(tx: Tx, unsigned: AddAutoRenewedValidatorTx, diff: Diff, env: Env) -> None:
    """Add an auto-renewed validator, which starts immediately.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; its stake or its fee is not covered.
    """
    config, now = env.config, diff.clock.timestamp()
    node_id, weight = NodeID(unsigned.node_id), total_of(unsigned.stake)
    verify_validator_terms(weight, unsigned.delegation_shares, config)
    verify_duration(unsigned.period, config, least=min_validator_duration(config, now))
    if diff.stakers.validator(PRIMARY_NETWORK_ID, node_id):
        raise InvalidTx(AutoRenewalReason.DUPLICATE, node_id=node_id)
    verify_funds(tx, diff, env, unsigned.stake)
    transfer(tx, diff)
    assert isinstance(unsigned.signer, ProofOfPossession)
    staker = Staker(
        tx_id=tx.tx_id,
        node_id=node_id,
        subnet_id=PRIMARY_NETWORK_ID,
        weight=weight,
        start=now,
        end=now + unsigned.period,
        potential_reward=0,
        priority=Priority.PRIMARY_VALIDATOR_PENDING,
        public_key=unsigned.signer.public_key,
    )
    promote(staker, diff, config)
    terms = AutoRenewal(unsigned.period, unsigned.auto_compound_reward_shares)
    diff.stakers.set_auto_renewal(tx.tx_id, terms)


def execute_set_config(
    tx: Tx, unsigned: SetAutoRenewedValidatorConfigTx, diff: Diff, env: Env
) -> None:
    """Change the next period of an auto-renewed validator and the part of its rewards that is restaked.

    Both apply from the end of the present period on. Without a next period the validator leaves then.

    Raises:
        InvalidTx: The transaction named did not add an auto-renewed validator, or not the one that its node is now;
            the period is too short or too long; its authority has not authorized it; the fee is not covered.
    """
    added = diff.txs.get(unsigned.tx_id)
    if added is None:
        raise InvalidTx(AutoRenewalReason.STAKER_TX_MISSING)
    if not isinstance(added.unsigned, AddAutoRenewedValidatorTx):
        raise InvalidTx(AutoRenewalReason.WRONG_STAKER_TX_TYPE, kind=type(added.unsigned).__name__)
    node_id = NodeID(added.unsigned.node_id)
    validator = diff.stakers.validator(PRIMARY_NETWORK_ID, node_id)
    if validator is None or validator.priority.is_pending:
        raise InvalidTx(AutoRenewalReason.VALIDATOR_MISSING, node_id=node_id)
    if validator.tx_id != unsigned.tx_id:
        raise InvalidTx(AutoRenewalReason.WRONG_TX_ID)
    if unsigned.period:
        least = min_validator_duration(env.config, diff.clock.timestamp())
        verify_duration(unsigned.period, env.config, least=least)
    authority = owners_of_field(added.unsigned.validator_authority)
    input_credentials = authorize_owner(tx, diff, owner=authority, auth=unsigned.auth)
    with refused_as(TxStateReason.FLOW_CHECK_FAILED):
        verify_spend(tx, diff, env, input_credentials=input_credentials)
    transfer(tx, diff)
    before = diff.stakers.auto_renewal(unsigned.tx_id)
    assert before is not None, "a current auto-renewed validator has such terms"
    after = replace(
        before,
        next_period=unsigned.period,
        compound_shares=unsigned.auto_compound_reward_shares,
    )
    diff.stakers.set_auto_renewal(unsigned.tx_id, after)


def execute_period_end(
    tx: Tx, unsigned: RewardAutoRenewedValidatorTx, commit: Diff, abort: Diff, env: Env
) -> None:
    """Execute both outcomes of a proposal at the end of a period, each on its diff.

    If it is aborted, the validator leaves without the reward of this period. If it is committed, the validator gets
    the reward, and leaves or begins its next period.

    Raises:
        InvalidTx: The proposal is not of this time; the staker named is not the next to leave, its end is not reached
            yet, or it is not an auto-renewed validator.
    """
    if unsigned.timestamp != commit.clock.timestamp():
        raise InvalidTx(AutoRenewalReason.WRONG_TIMESTAMP)
    staker = verified_staker(unsigned.tx_id, commit)
    added = commit.txs.get(staker.tx_id)
    assert added is not None, "the transaction that added a staker is accepted"
    if not isinstance(added.unsigned, AddAutoRenewedValidatorTx):
        raise InvalidTx(AutoRenewalReason.NOT_AUTO_RENEWED)
    renewal = commit.stakers.auto_renewal(staker.tx_id)
    assert renewal is not None, "a current auto-renewed validator has such terms"
    from_delegators = commit.stakers.delegatee_reward(staker.tx_id)
    end = _PeriodEnd(tx, env, added.unsigned, staker, renewal, from_delegators)
    end.leave(abort, reward=0)
    lower_supply(staker, abort)
    if renewal.next_period:
        end.renew(commit)
    else:
        end.leave(commit, reward=staker.potential_reward)
    for diff, status in ((commit, TxStatus.COMMITTED), (abort, TxStatus.ABORTED)):
        diff.txs.add(tx, status)


@dataclass(frozen=True, slots=True)
class _PeriodEnd:
    """A proposal at the end of an auto-renewed validator's period, with the state that both outcomes start from."""

    tx: Tx
    env: Env
    added: AddAutoRenewedValidatorTx
    staker: Staker
    renewal: AutoRenewal
    from_delegators: int
    """The validator's share of its delegators' rewards in this period."""

    def leave(self, diff: Diff, *, reward: int) -> None:
        """Remove the validator, and pay a reward for this period and all rewards that are not paid yet."""
        stake = utxos_of(self.staker.tx_id, len(self.added.outputs), self.added.stake)
        for utxo in stake:
            diff.utxos.produce(utxo)
        diff.stakers.remove(self.staker)
        self._pay(
            diff,
            reward + self.renewal.accrued_validation_rewards,
            self.from_delegators + self.renewal.accrued_delegatee_rewards,
        )

    def renew(self, commit: Diff) -> None:
        """Begin the next period with the rewards that are restaked, and pay the others."""
        staker, renewal = self.staker, self.renewal
        restaked, restaked_from_delegators = self._restaked()
        self._pay(
            commit,
            staker.potential_reward - restaked,
            self.from_delegators - restaked_from_delegators,
        )
        weight = staker.weight + restaked + restaked_from_delegators
        supply = commit.supplies.get(staker.subnet_id)
        assert supply is not None
        reward = potential_reward(
            rates_at(self.env.config, staker.end),
            supply=supply,
            amount=weight,
            duration=renewal.next_period,
        )
        commit.supplies.set(staker.subnet_id, supply + reward)
        renewed = replace(
            staker,
            weight=weight,
            start=staker.end,
            end=staker.end + renewal.next_period,
            potential_reward=reward,
        )
        commit.stakers.put(renewed)
        commit.stakers.set_delegatee_reward(staker.tx_id, 0)
        accrued = replace(
            renewal,
            accrued_validation_rewards=renewal.accrued_validation_rewards + restaked,
            accrued_delegatee_rewards=renewal.accrued_delegatee_rewards + restaked_from_delegators,
        )
        commit.stakers.set_auto_renewal(staker.tx_id, accrued)

    def _restaked(self) -> tuple[int, int]:
        """Return the restaked parts of both rewards. The stake grows to the maximum at most, and the rest is paid."""
        shares = self.renewal.compound_shares
        own = split(self.staker.potential_reward, shares).delegatee
        from_delegators = split(self.from_delegators, shares).delegatee
        room = max(0, self.env.config.max_validator_stake - self.staker.weight)
        total = own + from_delegators
        if total <= room:
            return own, from_delegators
        own = own * room // total
        return own, room - own

    def _pay(self, diff: Diff, reward: int, from_delegators: int) -> None:
        """Produce an output of the proposal for each amount that is not zero, with consecutive indices."""
        amounts = (
            (reward, self.added.validation_rewards_owner),
            (from_delegators, self.added.delegation_rewards_owner),
        )
        owed = [(amount, owners_of_field(owner)) for amount, owner in amounts if amount]
        for index, (amount, owner) in enumerate(owed):
            output = TransferOutput(amount, owner)
            utxo = UTXO(self.tx.tx_id, index, self.env.asset_id, output)
            diff.utxos.produce(utxo)
            diff.utxos.add_reward(self.tx.tx_id, utxo)
