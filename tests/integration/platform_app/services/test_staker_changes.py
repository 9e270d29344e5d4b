"""Starts and ends of stakers: each time of change gets its own block."""

from typing import Any

import pytest

from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import BanffStandardBlock
from platform_app.config import DAY, UNIT
from platform_app.executor.rewards import potential_reward
from platform_app.models import Outcome, Phase
from platform_app.selectors import accepted, own_stake, stakers
from platform_app.state.stakers import Staker
from platform_app.store.state import DatabaseState
from platform_app.txs.base import BaseTx, TxStatus, inner_output
from platform_app.txs.subnets import RemoveSubnetValidatorTx
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import (
    DELEGATION,
    STAKE,
    delegator,
    node,
    paid,
    rival,
    scheduled_validator,
    staker_of,
    subnet,
    subnet_validator,
    supply,
    validator,
)

pytestmark = pytest.mark.usefixtures("every_block_holds")


def test_a_pending_staker_becomes_current_in_a_block_of_its_own_at_its_start(
    pchain: PChain,
) -> None:
    tx = pchain.do(scheduled_validator(pchain, "node", start=600, end=30 * DAY))
    assert staker_of(tx).phase == Phase.PENDING
    before, start = supply(), pchain.now + 600 - 1

    (block,) = pchain.wait(3_600)

    assert (type(block), block.time, block.txs) == (BanffStandardBlock, start, ())
    row = staker_of(tx)
    assert (row.phase, row.joined_height) == (Phase.CURRENT, block.height)
    reward = potential_reward(
        platform.CONFIG.rewards, supply=before, amount=STAKE, duration=30 * DAY - 600
    )
    assert (row.potential_reward, supply()) == (reward, before + reward)
    assert row.potential_reward > 0


def test_each_moment_of_change_has_its_block_however_late_they_are_built(pchain: PChain) -> None:
    now = pchain.now
    pchain.do(scheduled_validator(pchain, "first", start=600, end=30 * DAY))
    pchain.do(scheduled_validator(pchain, "second", start=500, end=30 * DAY))
    pchain.do(scheduled_validator(pchain, "third", start=400, end=30 * DAY))

    blocks = pchain.wait(10 * DAY)

    assert [block.time for block in blocks] == [now + 402, now + 501, now + 600]


def test_stakers_of_one_second_start_in_one_block_in_order(
    pchain: PChain,
) -> None:
    start = pchain.now + 600
    txs = [
        pchain.do(scheduled_validator(pchain, name, start=start - pchain.now, end=30 * DAY))
        for name in ("a", "b", "c")
    ]
    at_first = supply()

    (block,) = pchain.wait(DAY)

    assert block.time == start
    expected = at_first
    for row in sorted((staker_of(tx) for tx in txs), key=lambda row: bytes(row.tx_id)):
        reward = potential_reward(
            platform.CONFIG.rewards,
            supply=expected,
            amount=STAKE,
            duration=row.end_time - row.start_time,
        )
        assert row.potential_reward == reward
        expected += reward
    assert supply() == expected


def test_a_validator_of_a_permissioned_subnet_leaves_at_its_end_without_a_proposal(
    pchain: PChain,
) -> None:
    subnet_id = subnet(pchain)
    pchain.do(validator(pchain, "node", end=30 * DAY))
    tx = pchain.do(subnet_validator(pchain, subnet_id, "node", start=600, end=2 * DAY))
    end = staker_of(tx).end_time
    begins, ends = pchain.wait(5 * DAY)

    assert (type(ends), ends.time) == (BanffStandardBlock, end)
    row = staker_of(tx)
    assert (row.phase, row.outcome) == (Phase.PAST, Outcome.ENDED)
    assert (row.joined_height, row.left_height) == (begins.height, ends.height)
    assert paid(tx) == {}


def test_a_removed_one_has_left_at_once(pchain: PChain) -> None:
    subnet_id = subnet(pchain)
    pchain.do(validator(pchain, "node", end=30 * DAY))
    tx = pchain.do(subnet_validator(pchain, subnet_id, "node", start=600, end=2 * DAY))
    pchain.wait(700)

    pchain.do(pchain.make(RemoveSubnetValidatorTx, node_id=node("node"), subnet_id=subnet_id))

    assert staker_of(tx).outcome == Outcome.REMOVED
    assert stakers.current_validators(platform_chain(), subnet_id).validators == ()


def test_delegators_leave_before_their_validator_in_the_same_second(pchain: PChain) -> None:
    end = pchain.now + 30 * DAY
    holder = pchain.do(validator(pchain, "node", end=end - pchain.now))
    delegation = pchain.do(delegator(pchain, "node", end=end - pchain.now))

    first, second = pchain.wait(40 * DAY)

    assert (staker_of(delegation).left_height, staker_of(holder).left_height) == (
        first.height, second.height,
    )  # fmt: skip
    assert first.time == second.time == end


def test_validator_sets_of_every_height_are_reconstructed(pchain: PChain) -> None:
    seen = {0: _weights()}

    def note() -> None:
        seen[platform_chain().tip().height] = _weights()

    subnet_id = subnet(pchain)
    note()
    for number, end in enumerate((3, 5, 4)):
        name = f"node {number}"
        pchain.do(validator(pchain, name, end=end * DAY, weight=STAKE + number))
        note()
        pchain.do(delegator(pchain, name, end=2 * DAY, weight=DELEGATION + number))
        note()
        pchain.do(delegator(pchain, name, start=600, end=2 * DAY))
        note()
        pchain.do(
            subnet_validator(pchain, subnet_id, name, start=900 + number, end=end * DAY - 3_600)
        )
        note()
    while platform_chain().tip().timestamp < pchain.now + 6 * DAY and _step(pchain, 6 * DAY):
        note()

    heights = platform_chain().tip().height + 1
    for height in range(heights):
        expected = seen.get(height)
        if expected is None:  # a proposal: nothing changes before its option
            expected = seen[height - 1]
        for value in (PRIMARY_NETWORK_ID, subnet_id):
            found = stakers.validators_at(platform_chain(), height, value)
            assert found is not None
            assert {key: member.weight for key, member in found.items()} == expected.get(value, {})
    assert heights > 30


def _step(pchain: PChain, seconds: int) -> bool:
    return platform_runtime().consensus.produce(now=pchain.now + seconds) is not None


def _weights() -> dict[ID, dict[Any, int]]:
    """Return the weights of current validators, computed from the stakers the rules see."""
    present: list[Staker] = list(DatabaseState(platform_chain().db).stakers.current())
    seats = {(item.subnet_id, item.node_id) for item in present if not item.priority.is_delegator}
    weights: dict[ID, dict[Any, int]] = {}
    for subnet_id, node_id in seats:
        weights.setdefault(subnet_id, {})[node_id] = sum(
            other.weight
            for other in present
            if (other.subnet_id, other.node_id) == (subnet_id, node_id)
        )
    return weights


def test_next_staking_period_starts_at_the_end_of_the_last(pchain: PChain) -> None:
    first = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    other = pchain.do(validator(pchain, "node", end=300 * DAY))
    payment = pchain.make()
    pchain.now = first.end + 90 * DAY  # the node was not running
    pchain.issue(payment)

    pchain.build()

    again = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    assert again.start == first.end
    assert staker_of(other).outcome == Outcome.REWARDED
    assert accepted.status(platform_chain(), payment.tx_id).status is TxStatus.COMMITTED


def test_pending_transactions_are_checked_at_clock_time(pchain: PChain) -> None:
    """The lock has expired by the node's clock, but not at the time of the renewal's block."""
    first = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    opens = first.end + DAY
    pchain.do(pchain.make(BaseTx, pchain.output(UNIT, EWOQ, locktime=opens)))
    pchain.now = opens + DAY
    platform_runtime().consensus.produce(now=pchain.now)  # ends the staking period
    assert not own_stake.is_validator(platform_chain(), pchain.node_id)
    (locked,) = [coin for coin in pchain.coins() if inner_output(coin.output).amount == UNIT]
    tx = rival(pchain.make(BaseTx, inputs=platform.spend_all(locked), outputs=()), b"")
    pchain.issue(tx)

    renewal, block = pchain.build()

    assert renewal.time == first.end
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED
    assert [item.tx_id for item in block.txs] == [tx.tx_id]
