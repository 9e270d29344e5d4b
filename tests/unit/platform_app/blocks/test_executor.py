"""Execution of blocks, error by error (pchain.md 4, 6.3)."""

from collections.abc import Callable
from typing import Any

import pytest

from chainvm.errors import InvalidBlock, UnknownParent
from platform_app.blocks.block import (
    ApricotStandardBlock,
    Block,
    build_options,
    build_proposal,
    build_standard,
    genesis_block,
)
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.blocks.executor import (
    ProposalOptions,
    execute_block,
    execute_proposal,
    execute_standard,
    verify_child,
)
from platform_app.config import DAY, UNIT
from platform_app.executor.errors import TxStateReason
from platform_app.state.facets import FeeState
from platform_app.state.stakers import Priority
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.codec import build
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx, RewardValidatorTx
from platform_app.txs.subnets import ImportTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import (
    ENV,
    MemoryState,
    env,
    joined,
    staker,
    stakers,
    staking,
    state,
)
from tests.builders.reasons import raises, reason_of

NOW = platform.NOW
PARENT = genesis_block(b"genesis")
FUNDS = platform.utxo(2 * UNIT)


def standard(*txs: Tx, time: int = NOW, **place: Any) -> Any:
    fields = {"parent_id": PARENT.block_id, "height": 1, **place}
    return build_standard(time=time, txs=txs, **fields)


def proposal(tx: Tx, *txs: Tx, time: int = NOW) -> Any:
    return build_proposal(parent_id=PARENT.block_id, height=1, time=time, proposal=tx, txs=txs)


def due() -> tuple[MemoryState, Tx]:
    """Return a state in which a validator's end is reached, and the proposal to reward it."""
    holder = state(FUNDS)
    tx = staking(AddPermissionlessValidatorTx, start=NOW - 30 * DAY, end=NOW)
    joined(holder, tx)
    return holder, build(RewardValidatorTx(tx.tx_id), ())


def assert_refused(
    call: Callable[[], Any], reason: PlatformBlockReason | type[UnknownParent], words: str
) -> Any:
    with pytest.raises(InvalidBlock) as refused:
        call()
    assert reason_of(refused.value) is reason
    assert str(refused.value) == words
    return refused.value


def test_a_standard_block_executes_its_transactions_in_order() -> None:
    first = platform.signed(outputs=platform.outputs(UNIT))
    made = platform.utxo(UNIT)
    made = type(made)(first.tx_id, 0, platform.ASSET_ID, made.output)
    second = platform.signed(inputs=platform.spend_all(made), outputs=())

    diff = execute_standard(standard(first, second), state(FUNDS), ENV)

    assert diff.utxos.changes().consumed == (FUNDS.utxo_id,)
    assert diff.utxos.changes().produced == ()
    assert [tx.tx_id for tx, _ in diff.txs.changes()] == [first.tx_id, second.tx_id]


def test_time_is_advanced_before_transactions_are_executed() -> None:
    pending = staker(start=NOW + 5, priority=Priority.PRIMARY_VALIDATOR_PENDING)
    diff = execute_standard(
        standard(platform.signed(), time=NOW + 5), state(FUNDS, stakers=stakers(pending)), ENV
    )

    assert diff.clock.timestamp() == NOW + 5
    assert next(diff.stakers.current()).tx_id == pending.tx_id


def test_gas_of_a_block_is_charged_behind_its_transactions() -> None:
    # 58 and 80 and 161 bytes, 1 read, 2 writes, 200 microseconds.
    gas = 299 + 1000 + 2000 + 800
    before = state(FUNDS, fees=FeeState(capacity=500_000, excess=100_000))
    diff = execute_standard(standard(platform.signed(), time=NOW + 1), before, ENV)

    assert diff.clock.fee_state() == FeeState(capacity=600_000 - gas, excess=50_000 + gas)


def test_a_block_may_use_more_gas_than_there_is() -> None:
    diff = execute_standard(standard(platform.signed()), state(FUNDS, fees=FeeState()), ENV)

    assert diff.clock.fee_state().capacity == 0


def test_transaction_with_static_fee_uses_no_gas() -> None:
    holder = state(platform.utxo(2_000 * UNIT))
    tx = staking(AddValidatorTx, inputs=platform.spend_all(platform.utxo(2_000 * UNIT)))
    diff = execute_standard(standard(tx), holder, ENV)

    assert diff.clock.fee_state() == holder.clock.fees


def test_a_block_without_changes_is_refused() -> None:
    assert_refused(
        lambda: execute_standard(standard(time=NOW + 5), state(), ENV),
        PlatformBlockReason.NO_STATE_CHANGES,
        "BanffStandardBlock performs no state changes",
    )


def test_a_change_of_stakers_is_a_change() -> None:
    pending = staker(start=NOW + 5, priority=Priority.PRIMARY_VALIDATOR_PENDING)
    holder = state(stakers=stakers(pending))

    assert execute_standard(standard(time=NOW + 5), holder, ENV).stakers.changes().present


def test_a_block_s_time_is_not_before_chain_time() -> None:
    assert_refused(
        lambda: execute_standard(standard(time=NOW - 1), state(), ENV),
        PlatformBlockReason.TIME_BEFORE_CHAIN,
        "proposed timestamp before current chain time: "
        "proposed timestamp (2023-11-14 22:13:19 +0000 UTC), "
        "chain time (2023-11-14 22:13:20 +0000 UTC)",
    )


def test_a_block_s_time_is_at_most_ten_seconds_ahead() -> None:
    block = standard(platform.signed(), time=NOW + 10)

    assert execute_standard(block, state(FUNDS), ENV).clock.timestamp() == NOW + 10
    assert_refused(
        lambda: execute_standard(standard(time=NOW + 11), state(), ENV),
        PlatformBlockReason.TIME_TOO_FAR_AHEAD,
        "proposed timestamp is too far in the future relative to local time, "
        "proposed time (2023-11-14 22:13:31 +0000 UTC), "
        "local time (2023-11-14 22:13:20 +0000 UTC)",
    )


def test_a_block_does_not_leap_over_a_change_of_stakers() -> None:
    holder = state(stakers=stakers(staker(end=NOW + 5)))

    assert_refused(
        lambda: execute_standard(standard(time=NOW + 6), holder, ENV),
        PlatformBlockReason.TIME_AFTER_STAKER_CHANGE,
        "proposed timestamp later than next staker change time, "
        "proposed timestamp (2023-11-14 22:13:26 +0000 UTC), "
        "next staker change time (2023-11-14 22:13:25 +0000 UTC)",
    )


def test_block_time_beyond_the_calendar_is_refused() -> None:
    assert_refused(
        lambda: execute_standard(standard(time=2**64 - 1), state(), ENV),
        PlatformBlockReason.TIME_TOO_FAR_AHEAD,
        "proposed timestamp is too far in the future relative to local time, "
        "proposed time (18446744073709551615), local time (2023-11-14 22:13:20 +0000 UTC)",
    )


def test_one_refused_transaction_refuses_the_block() -> None:
    good, bad = platform.signed(), platform.signed(memo=b"again")
    refused = assert_refused(
        lambda: execute_standard(standard(good, bad), state(FUNDS), ENV),
        PlatformBlockReason.REFUSED_TX,
        f"standard tx {bad.tx_id} failed execution: "
        f"failed to read consumed UTXO {FUNDS.tx_id}:0 due to: not found",
    )

    assert refused.values["cause"].reason is TxStateReason.UTXO_MISSING
    assert refused.values["tx_id"] == bad.tx_id


def test_two_transactions_cannot_import_the_same_output() -> None:
    holder = state()
    holder.share(platform.X_CHAIN_ID, platform.utxo(number=7))
    twice = [platform.signed(ImportTx, inputs=(), outputs=(), memo=memo) for memo in (b"", b"2")]

    assert_refused(
        lambda: execute_standard(standard(*twice), holder, ENV),
        PlatformBlockReason.CONFLICTING_TXS,
        "block contains conflicting transactions",
    )


def test_a_proposal_has_two_outcomes_with_the_decisions_in_both() -> None:
    holder, reward = due()
    decision = platform.signed()
    commit, abort = execute_proposal(proposal(reward, decision), holder, ENV)

    for diff in (commit, abort):
        assert FUNDS.utxo_id in diff.utxos.changes().consumed
        assert len(diff.stakers.changes().left) == 1
    assert [status for _, status in commit.txs.changes()] == [TxStatus.COMMITTED] * 2
    assert [status for _, status in abort.txs.changes()] == [
        TxStatus.COMMITTED,
        TxStatus.ABORTED,
    ]
    assert commit.supplies.get(PRIMARY_NETWORK_ID) > abort.supplies.get(PRIMARY_NETWORK_ID)


def test_a_proposal_block_proposes_rewards_only() -> None:
    holder, _ = due()
    refused = assert_refused(
        lambda: execute_proposal(proposal(platform.signed()), holder, ENV),
        PlatformBlockReason.REFUSED_PROPOSAL,
        f"proposal tx {platform.signed().tx_id} failed execution: wrong transaction type",
    )

    assert refused.values["cause"].reason is TxStateReason.WRONG_TX_TYPE


def test_a_proposal_names_the_next_staker() -> None:
    holder, reward = due()
    other = build(RewardValidatorTx(platform.some_id("other")), ())
    refused = assert_refused(
        lambda: execute_proposal(proposal(other), holder, ENV),
        PlatformBlockReason.REFUSED_PROPOSAL,
        f"proposal tx {other.tx_id} failed execution: attempting to remove wrong staker: "
        f"{reward.unsigned.tx_id} != {platform.some_id('other')}",
    )

    assert refused.values["cause"].reason is TxStateReason.WRONG_STAKER


def test_reward_transaction_in_standard_block_is_refused() -> None:
    holder, reward = due()

    assert_refused(
        lambda: execute_standard(standard(reward), holder, ENV),
        PlatformBlockReason.REFUSED_TX,
        f"standard tx {reward.tx_id} failed execution: wrong transaction type",
    )


def test_each_kind_of_block_is_executed_as_such() -> None:
    holder, reward = due()

    assert isinstance(execute_block(proposal(reward), holder, ENV), ProposalOptions)
    assert execute_block(standard(platform.signed()), state(FUNDS), ENV).txs.changes()


def test_an_option_is_not_executed() -> None:
    _, reward = due()
    for option in build_options(proposal(reward)):
        assert_refused(
            lambda option=option: execute_block(option, state(), ENV),
            PlatformBlockReason.NO_PROPOSAL,
            "option blocks follow proposal blocks, and nothing else does",
        )


def test_a_block_without_time_is_refused() -> None:
    block = ApricotStandardBlock(raw=b"", parent_id=PARENT.block_id, height=1)

    assert_refused(
        lambda: execute_block(block, state(), ENV),
        PlatformBlockReason.APRICOT_AFTER_FORK,
        "apricot block issued after fork: timestamp = 2023-11-14 22:13:20 +0000 UTC",
    )


def test_locktime_is_compared_with_block_time() -> None:
    locked = platform.utxo(2 * UNIT, locktime=NOW + 1)
    tx = platform.signed(inputs=platform.spend_all(locked))

    assert execute_block(standard(tx, time=NOW + 1), state(locked), ENV).txs.changes()
    with raises(
        PlatformBlockReason.REFUSED_TX, kind=InvalidPlatformBlock, match="output is time locked"
    ):
        execute_block(standard(tx, time=NOW), state(locked), env(now=NOW + 1))


def child(parent: Block = PARENT, **place: Any) -> Any:
    return standard(**{"parent_id": parent.block_id, "height": parent.height + 1, **place})


def test_a_child_follows_its_parent() -> None:
    verify_child(child(), PARENT)
    verify_child(child(child()), child())


def test_the_child_of_another_block_is_refused() -> None:
    other = platform.some_id("another block")

    assert_refused(
        lambda: verify_child(child(parent_id=other), PARENT),
        UnknownParent,
        f"unexpected parent: expected {PARENT.block_id} but got {other}",
    )


def test_heights_are_consecutive() -> None:
    assert_refused(
        lambda: verify_child(child(height=2), PARENT),
        PlatformBlockReason.WRONG_HEIGHT,
        "incorrect block height expected 1, but found 2",
    )


def test_both_options_are_children_of_their_proposal() -> None:
    _, reward = due()
    for option in build_options(proposal(reward)):
        verify_child(option, proposal(reward))


def test_only_options_follow_a_proposal_and_only_there() -> None:
    _, reward = due()
    parent = proposal(reward)
    stray = build_options(parent)[0]
    stray = type(stray)(raw=b"", parent_id=PARENT.block_id, height=1, time=NOW)
    for block, above in ((child(parent), parent), (stray, PARENT)):
        assert_refused(
            lambda block=block, above=above: verify_child(block, above),
            PlatformBlockReason.NO_PROPOSAL,
            "option blocks follow proposal blocks, and nothing else does",
        )


def test_an_option_has_its_proposal_s_time() -> None:
    _, reward = due()
    parent = proposal(reward)
    late = type(build_options(parent)[0])(
        raw=b"", parent_id=parent.block_id, height=2, time=NOW + 1
    )

    assert_refused(
        lambda: verify_child(late, parent),
        PlatformBlockReason.OPTION_TIME_DIFFERS,
        "option block proposed timestamp not matching parent block one "
        "parent block timestamp (2023-11-14 22:13:20 +0000 UTC) "
        "option block timestamp (2023-11-14 22:13:21 +0000 UTC)",
    )
