"""The reference's rules since Durango, with its own parameters: there are no pending stakers (5.4.1, 5.4.3)."""

from typing import Any

import pytest

from platform_app.blocks.block import build_standard
from platform_app.blocks.executor import execute_block
from platform_app.config import DAY, REFERENCE_UNIT, reference_config
from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.executor.rewards import potential_reward
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import BaseTx, Tx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import (
    MemoryState,
    assert_refused,
    env,
    executed,
    staker,
    stakers,
    staking,
    state,
)

NOW = platform.NOW
CONFIG = reference_config(platform.NETWORK_ID)
ENV = env(config=CONFIG)
SUPPLY = 360_000_000 * REFERENCE_UNIT
PURSE = platform.utxo(10_000_000 * REFERENCE_UNIT, number=9)
WEIGHTS = {
    AddPermissionlessValidatorTx: 2_000 * REFERENCE_UNIT,
    AddPermissionlessDelegatorTx: 25 * REFERENCE_UNIT,
    AddValidatorTx: 2_000 * REFERENCE_UNIT,
    AddDelegatorTx: 25 * REFERENCE_UNIT,
}
CURRENT = {
    AddPermissionlessValidatorTx: Priority.PRIMARY_VALIDATOR_CURRENT,
    AddPermissionlessDelegatorTx: Priority.PRIMARY_DELEGATOR_CURRENT,
    AddSubnetValidatorTx: Priority.PERMISSIONED_VALIDATOR_CURRENT,
}
STARTS = [0, NOW - 400 * DAY, NOW, NOW + 1, NOW + 10 * DAY, NOW + 100 * DAY, 2**64 - 1]
"""Start times in transactions, which are ignored."""


def seat() -> Staker:
    return staker(weight=2_000 * REFERENCE_UNIT, end=NOW + 60 * DAY)


def ready(kind: type) -> MemoryState:
    """A state in which a transaction of this kind is accepted."""
    holder = state(PURSE, supplies={PRIMARY_NETWORK_ID: SUPPLY})
    holder.subnets.owners[platform.SUBNET_ID] = platform.owners()
    if kind not in {AddPermissionlessValidatorTx, AddValidatorTx}:
        holder.stakers = stakers(seat())
    return holder


def adding(kind: type, **changes: Any) -> Tx:
    if kind is AddSubnetValidatorTx:
        fields = {"validator": platform.subnet_validator(**changes), "outputs": ()}
        return platform.signed(kind, inputs=platform.spend_all(PURSE), **fields)
    return staking(kind, inputs=platform.spend_all(PURSE), weight=WEIGHTS[kind], **changes)


def added(kind: type, **changes: Any) -> Diff:
    return executed(adding(kind, **changes), ready(kind), ENV)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", CURRENT)
def test_staker_starts_at_chain_time(kind: type, start: int) -> None:
    diff = added(kind, start=start, end=NOW + 20 * DAY)
    (begun,) = diff.stakers.changes().present

    assert (begun.start, begun.end, begun.priority) == (NOW, NOW + 20 * DAY, CURRENT[kind])


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", [AddPermissionlessValidatorTx, AddPermissionlessDelegatorTx])
def test_reward_is_fixed_immediately_for_the_remaining_time(kind: type, start: int) -> None:
    diff = added(kind, start=start, end=NOW + 20 * DAY)
    (begun,) = diff.stakers.changes().present
    reward = potential_reward(
        CONFIG.rewards, supply=SUPPLY, amount=WEIGHTS[kind], duration=20 * DAY
    )

    assert begun.potential_reward == reward > 0
    assert diff.supplies.changes() == {PRIMARY_NETWORK_ID: SUPPLY + reward}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", CURRENT)
def test_the_shortest_period_counts_from_chain_time(kind: type, start: int) -> None:
    assert added(kind, start=start, end=NOW + DAY).stakers.changes().present
    assert_refused(
        adding(kind, start=start, end=NOW + DAY - 1),
        ready(kind),
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
        environment=ENV,
    )


@pytest.mark.parametrize("start", STARTS)
def test_the_longest_period_counts_from_chain_time(start: int) -> None:
    kind = AddPermissionlessValidatorTx
    assert added(kind, start=start, end=NOW + 365 * DAY).stakers.changes().present
    assert_refused(
        adding(kind, start=start, end=NOW + 365 * DAY + 1),
        ready(kind),
        StakerReason.PERIOD_TOO_LONG,
        "staking period is too long",
        environment=ENV,
    )


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", [AddPermissionlessDelegatorTx, AddSubnetValidatorTx])
def test_only_the_end_must_lie_within_the_validator_s_period(kind: type, start: int) -> None:
    assert added(kind, start=start, end=seat().end).stakers.changes().present
    assert_refused(
        adding(kind, start=start, end=seat().end + 1),
        ready(kind),
        StakerReason.PERIOD_MISMATCH,
        "proposed staking period is not inside dependent staking period",
        environment=ENV,
    )


def test_a_delegator_s_weight_counts_from_chain_time_on() -> None:
    """Two delegators with disjoint periods in their transactions are active at the same time."""
    holder, kind = ready(AddPermissionlessDelegatorTx), AddPermissionlessDelegatorTx
    most = 4 * seat().weight
    first = staker(
        "first",
        weight=most - WEIGHTS[kind] + 1,
        start=NOW - DAY,
        end=NOW + 2 * DAY,
        priority=Priority.PRIMARY_DELEGATOR_CURRENT,
    )
    holder.stakers[first.tx_id] = first

    assert_refused(
        adding(kind, start=NOW + 5 * DAY, end=NOW + 9 * DAY),
        holder,
        StakerReason.OVER_DELEGATED,
        "validator would be over delegated",
        environment=ENV,
    )


@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        (
            AddValidatorTx,
            TxStateReason.ADD_VALIDATOR_REFUSED,
            "AddValidatorTx is not permitted post-Durango",
        ),
        (
            AddDelegatorTx,
            TxStateReason.ADD_DELEGATOR_REFUSED,
            "AddDelegatorTx is not permitted post-Durango",
        ),
    ],
)
@pytest.mark.parametrize("start", [0, NOW + 60])
def test_two_kinds_have_ended(kind: type, reason: Any, words: str, start: int) -> None:
    tx = adding(kind, start=start, end=NOW + 20 * DAY)
    assert_refused(tx, ready(kind), reason, words, environment=ENV)


@pytest.mark.parametrize("kind", [BaseTx, AddPermissionlessValidatorTx])
def test_memos_are_empty(kind: type) -> None:
    tx = platform.signed(kind, memo=b"hello")
    words = "memo exceeds maximum length: 5 > 0"
    assert_refused(tx, ready(kind), TxSyntaxReason.MEMO_TOO_LONG, words, environment=ENV)


@pytest.mark.parametrize("start", STARTS)
def test_block_of_avalanchego_gives_the_same_stakers(start: int) -> None:
    """The block's own time counts, not the clock or the time of the parent."""
    holder, time = ready(AddSubnetValidatorTx), NOW + 7
    tx = adding(AddSubnetValidatorTx, start=start, end=NOW + 30 * DAY)
    block = build_standard(parent_id=platform.some_id("parent"), height=1, time=time, txs=(tx,))
    holder.accept(execute_block(block, holder, env(config=CONFIG, now=time)))

    assert holder.stakers[tx.tx_id].start == time
    assert [item.priority.is_pending for item in holder.stakers.values()] == [False, False]
