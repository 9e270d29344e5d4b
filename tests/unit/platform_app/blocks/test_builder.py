"""The contents of the next block, and the conditions for one (pchain.md 4, block building)."""

from dataclasses import replace

import pytest

from platform_app.blocks.block import BanffProposalBlock, BanffStandardBlock, genesis_block
from platform_app.blocks.builder import TXS_SIZE_LIMIT, BuiltBlock, build
from platform_app.blocks.executor import ProposalOptions, execute_block, verify_child
from platform_app.config import DAY, UNIT
from platform_app.executor.errors import TxStateReason
from platform_app.state.stakers import Priority
from platform_app.txs.base import TxStatus
from platform_app.txs.staking import (
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
    RewardValidatorTx,
)
from tests.builders import platform
from tests.builders.platform_state import (
    ENV,
    PURSE,
    MemoryState,
    changes_of,
    env,
    joined,
    staker,
    stakers,
    staking,
    state,
)

NOW = platform.NOW
PARENT = genesis_block(b"genesis")
FUNDS = platform.utxo(2 * UNIT)
PENDING = staker(start=NOW + 5, priority=Priority.PRIMARY_VALIDATOR_PENDING)


def built(holder: MemoryState, *txs, environment=ENV) -> BuiltBlock:
    """Build a block, and check that executing it gives the same result."""
    made = build(PARENT, holder, txs, environment)
    if made.block is None:
        assert made.outcome is None
        return made
    verify_child(made.block, PARENT)
    again = execute_block(made.block, holder, environment)
    if isinstance(again, ProposalOptions):
        assert isinstance(made.outcome, ProposalOptions)
        assert changes_of(made.outcome.commit) == changes_of(again.commit)
        assert changes_of(made.outcome.abort) == changes_of(again.abort)
    else:
        assert changes_of(made.outcome) == changes_of(again)
    return made


def test_nothing_pending_builds_no_block() -> None:
    assert built(state()) == BuiltBlock(None, None, ())


def test_transactions_are_packed_in_arrival_order() -> None:
    others = [platform.utxo(UNIT, number=number) for number in range(3)]
    txs = [
        platform.signed(inputs=platform.spend_all(other), outputs=()) for other in reversed(others)
    ]
    made = built(state(*others), *txs)

    assert isinstance(made.block, BanffStandardBlock)
    assert made.block.txs == tuple(txs)
    assert (made.block.height, made.block.parent_id) == (1, PARENT.block_id)
    assert made.block.time == NOW
    assert made.dropped == ()


def test_transaction_can_spend_outputs_of_an_earlier_one() -> None:
    first = platform.signed()
    change = replace(platform.utxo(UNIT), tx_id=first.tx_id, output_index=0)
    second = platform.signed(inputs=platform.spend_all(change), outputs=())

    assert len(built(state(FUNDS), first, second).block.txs) == 2
    assert [tx for tx, _ in built(state(FUNDS), second, first).dropped] == [second]


def test_failing_transaction_is_omitted_with_its_reason() -> None:
    good, bad = platform.signed(), platform.signed(memo=b"again")
    made = built(state(FUNDS), good, bad)

    assert made.block.txs == (good,)
    assert [(tx, refused.reason) for tx, refused in made.dropped] == [
        (bad, TxStateReason.UTXO_MISSING)
    ]


def test_failures_alone_make_no_block() -> None:
    made = built(state(), platform.signed())

    assert made.block is None
    assert len(made.dropped) == 1


def test_a_block_takes_128_kibibytes() -> None:
    many = [platform.utxo(UNIT, number=number) for number in range(290)]
    txs = [
        platform.signed(inputs=platform.spend_all(item), outputs=(), memo=bytes(256))
        for item in many
    ]
    size = len(txs[0].raw)
    made = built(state(*many), *txs)

    assert len(made.block.txs) == min(len(txs), TXS_SIZE_LIMIT // size)
    assert len(made.block.txs) < len(txs)
    assert made.dropped == ()


def test_nothing_overtakes_a_transaction_that_does_not_fit(monkeypatch) -> None:
    monkeypatch.setattr("platform_app.blocks.builder.TXS_SIZE_LIMIT", 700)
    funds = [platform.utxo(UNIT, number=number) for number in range(3)]
    large, small = ({"memo": bytes(256)}, {})
    txs = [
        platform.signed(inputs=platform.spend_all(one), outputs=(), **change)
        for one, change in zip(funds, (large, large, small), strict=True)
    ]

    assert built(state(*funds), *txs).block.txs == (txs[0],)


def test_a_change_of_stakers_that_is_due_makes_a_block() -> None:
    holder = state(stakers=stakers(PENDING))

    assert built(holder, environment=env(now=NOW + 4)).block is None
    made = built(holder, environment=env(now=NOW + 500))
    assert isinstance(made.block, BanffStandardBlock)
    assert (made.block.time, made.block.txs) == (NOW + 5, ())


def test_transactions_are_packed_into_the_block_of_a_staker_change() -> None:
    made = built(
        state(FUNDS, stakers=stakers(PENDING)), platform.signed(), environment=env(now=NOW + 9)
    )

    assert made.block.time == NOW + 5
    assert len(made.block.txs) == 1


def ended(holder: MemoryState) -> None:
    tx = staking(AddPermissionlessValidatorTx, start=NOW - 30 * DAY, end=NOW + 5)
    joined(holder, tx)


def test_an_end_makes_a_proposal_with_decisions() -> None:
    holder = state(FUNDS)
    ended(holder)
    made = built(holder, platform.signed(), environment=env(now=NOW + 9))

    assert isinstance(made.block, BanffProposalBlock)
    assert made.block.time == NOW + 5
    assert len(made.block.txs) == 1
    assert made.block.proposal.unsigned == RewardValidatorTx(next(iter(holder.stakers)))


def test_each_staker_that_ends_has_a_proposal_of_its_own() -> None:
    holder, clock = state(), env(now=NOW + 9)
    ended(holder)
    tx = staking(AddPermissionlessDelegatorTx, start=NOW - 30 * DAY, end=NOW + 5)
    joined(holder, tx, priority=Priority.PRIMARY_DELEGATOR_PENDING)
    proposed = []
    while (made := built(holder, environment=clock)).block:
        proposed.append(holder.stakers[made.block.proposal.unsigned.tx_id].priority)
        holder.accept(made.outcome.commit)

    assert proposed == [Priority.PRIMARY_DELEGATOR_CURRENT, Priority.PRIMARY_VALIDATOR_CURRENT]
    assert holder.clock.time == NOW + 5


def test_a_permissioned_validator_that_ends_needs_no_proposal() -> None:
    leaving = staker(
        subnet_id=platform.SUBNET_ID,
        end=NOW + 5,
        priority=Priority.PERMISSIONED_VALIDATOR_CURRENT,
    )
    made = built(state(stakers=stakers(leaving)), environment=env(now=NOW + 5))

    assert isinstance(made.block, BanffStandardBlock)
    assert made.outcome.stakers.changes().left == (leaving,)


def test_staker_with_past_start_starts_with_the_block() -> None:
    tx = staking(AddValidatorTx, start=NOW + 60)
    made = built(state(PURSE), tx, environment=env(now=NOW + 70))
    (added,) = made.outcome.stakers.changes().present

    assert (added.start, added.priority) == (NOW + 70, Priority.PRIMARY_VALIDATOR_CURRENT)
    assert made.dropped == ()


@pytest.mark.parametrize(("behind", "is_built"), [(10, True), (11, False)])
def test_clock_far_behind_builds_no_block(behind: int, *, is_built: bool) -> None:
    made = built(state(FUNDS), platform.signed(), environment=env(now=NOW - behind))

    assert (made.block is not None) == is_built
    assert made.dropped == ()


def test_the_same_input_makes_the_same_block() -> None:
    first, second = (built(state(FUNDS), platform.signed()) for _ in range(2))

    assert first.block.raw == second.block.raw
    assert first.outcome.txs.changes()[0][1] is TxStatus.COMMITTED
