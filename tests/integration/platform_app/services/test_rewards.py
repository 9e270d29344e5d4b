"""Outputs of stakers at their end, with commit and with abort, and the effect on the supply."""

from typing import Any

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.blocks.block import (
    BanffAbortBlock,
    BanffCommitBlock,
    BanffProposalBlock,
    parse_block,
)
from platform_app.config import DAY, UNIT
from platform_app.executor.rewards import split
from platform_app.models import Outcome, Phase
from platform_app.selectors import accepted
from platform_app.selectors.accepted import Status
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx, TxStatus, inner_output
from platform_app.txs.staking import RewardValidatorTx
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import (
    STAKE,
    delegator,
    node,
    paid,
    staker_of,
    supply,
    validator,
)
from utxo.components import UTXO

pytestmark = pytest.mark.usefixtures("every_block_holds")

_ANY: Any = None


def proposal_of(tx: Any) -> models.Tx:
    """Return the proposal to reward the staker that a transaction created."""
    proposals = models.Tx.objects.filter(kind=models.TxKind.REWARD_VALIDATOR)
    wanted = platform.signed(RewardValidatorTx, keys=[], tx_id=tx.tx_id)
    return proposals.get(tx_id=wanted.tx_id)


def was_online(tx: Tx, millionths: int) -> None:
    """Set the validator's uptime to a fraction of its staking period, as observed until its end."""
    staker = staker_of(tx)
    stay = staker.end_time - staker.start_time
    models.ValidatorUptime.objects.filter(staker=staker).update(
        up_duration=-(-stay * millionths // 1_000_000), last_updated=staker.end_time
    )


def test_at_its_end_a_validator_gets_its_stake_back_and_its_reward(pchain: PChain) -> None:
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    row = staker_of(tx)
    before, rewarded = supply(), row.potential_reward

    (option,) = pchain.wait(40 * DAY)

    proposal = accepted.block_at(platform_chain(), option.height - 1)
    assert proposal is not None
    assert type(option) is BanffCommitBlock
    assert type(parse_block(proposal.raw)) is BanffProposalBlock
    assert (proposal.time, option.time) == (row.end_time, row.end_time)
    assert proposal_of(tx).status == TxStatus.COMMITTED
    left = staker_of(tx)
    assert (left.phase, left.outcome, left.left_height) == (
        Phase.PAST, Outcome.REWARDED, option.height,
    )  # fmt: skip
    # One output of change, and one of stake, which is returned after it; then the reward.
    assert paid(tx) == {2: rewarded}
    assert supply() == before
    stake = DatabaseState(platform_chain().db).utxos.get(
        UTXO(tx.tx_id, 1, pchain.asset_id, _ANY).utxo_id
    )
    assert stake is not None
    assert inner_output(stake.output) == pchain.output(STAKE, EWOQ).output


def test_a_validator_that_was_offline_too_long_gets_its_stake_back_alone(pchain: PChain) -> None:
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    before, lost = supply(), staker_of(tx).potential_reward
    was_online(tx, 799_999)

    (option,) = pchain.wait(40 * DAY)

    assert type(option) is BanffAbortBlock
    assert accepted.status(platform_chain(), proposal_of(tx).tx_id) == Status(TxStatus.ABORTED)
    assert staker_of(tx).outcome == Outcome.UNREWARDED
    assert paid(tx) == {}
    assert supply() == before - lost
    assert (
        DatabaseState(platform_chain().db).utxos.get(
            UTXO(tx.tx_id, 1, pchain.asset_id, _ANY).utxo_id
        )
        is not None
    )


def test_four_fifths_of_its_time_online_are_enough(pchain: PChain) -> None:
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    was_online(tx, 800_000)

    (option,) = pchain.wait(40 * DAY)

    assert type(option) is BanffCommitBlock


def test_a_delegators_reward_is_shared_and_the_validators_part_is_paid_at_its_end(
    pchain: PChain,
) -> None:
    pchain.do(validator(pchain, "node", end=30 * DAY, shares=250_000))
    holder = models.Staker.objects.get(node_id=node("node"))
    delegation = pchain.do(delegator(pchain, "node", end=20 * DAY, weight=1_000 * UNIT))
    parts = split(staker_of(delegation).potential_reward, 250_000)
    before = supply()

    pchain.wait(25 * DAY)

    assert paid(delegation) == {2: parts.delegator}
    assert parts.delegatee > 0
    holder.refresh_from_db()
    assert holder.delegatee_reward == parts.delegatee
    pchain.wait(10 * DAY)
    assert paid(holder) == {2: holder.potential_reward, 3: parts.delegatee}
    assert supply() == before


def test_offline_validator_keeps_accrued_delegatee_reward(
    pchain: PChain,
) -> None:
    holder = pchain.do(validator(pchain, "node", end=30 * DAY, shares=250_000))
    early = pchain.do(delegator(pchain, "node", end=10 * DAY, weight=1_000 * UNIT))
    late = pchain.do(delegator(pchain, "node", end=20 * DAY, weight=1_000 * UNIT))
    accrued = split(staker_of(early).potential_reward, 250_000).delegatee
    lost = staker_of(late).potential_reward + staker_of(holder).potential_reward
    pchain.wait(15 * DAY)
    before = supply()
    was_online(holder, 100_000)

    pchain.wait(30 * DAY)

    assert proposal_of(early).status == TxStatus.COMMITTED
    assert proposal_of(late).status == TxStatus.ABORTED
    assert paid(late) == {}
    assert paid(holder) == {2: accrued}
    assert supply() == before - lost
