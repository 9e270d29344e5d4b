"""Base fee, gas limit, suggested tip and fee history."""

from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.feemarket import (
    INITIAL_BASE_FEE,
    BlockFees,
    InvalidPercentiles,
    PaidTip,
    PercentileReason,
    check_percentiles,
    fee_history,
    low_tips,
    next_base_fee,
    next_gas_limit,
    paid_tips,
    rewards_at,
    suggest_tip,
    suggest_tip_of_coreth,
)
from primitives.recursion import recursion_limit_restored
from tests.builders.accepted import accepted
from tests.builders.reasons import raises
from tests.builders.transactions import SENDER, signed

with recursion_limit_restored():
    from ethereum.forks.prague.fork import calculate_base_fee_per_gas
    from ethereum_types.numeric import Uint


def block(*tips, gas_used=None, **changes):
    """Return the fees of a block whose transactions use 21,000 gas each and have these tips."""
    fields = {
        "number": 1,
        "base_fee": 100,
        "gas_used": 21_000 * len(tips) if gas_used is None else gas_used,
        "gas_limit": 1_000_000,
        "tips": tuple(PaidTip(tip, 21_000) for tip in tips),
    }
    return BlockFees(**{**fields, **changes})


@given(
    st.integers(min_value=0, max_value=10**15),
    st.integers(min_value=5_000, max_value=10**9),
    st.data(),
)
def test_the_base_fee_moves_as_in_the_specification(base_fee, gas_limit, data):
    gas_used = data.draw(st.integers(min_value=0, max_value=gas_limit))
    theirs = calculate_base_fee_per_gas(
        Uint(gas_limit), Uint(gas_limit), Uint(gas_used), Uint(base_fee)
    )
    assert next_base_fee(base_fee, gas_used, gas_limit) == int(theirs)


def test_the_base_fee_does_not_fall_below_the_floor():
    assert next_base_fee(1_000, 0, 30_000_000, floor=990) == 990
    assert next_base_fee(1_000, 15_000_000, 30_000_000, floor=990) == 1_000


def test_the_first_london_block_has_the_initial_base_fee():
    assert next_base_fee(None, 0, 30_000_000) == INITIAL_BASE_FEE
    assert next_base_fee(None, 0, 30_000_000, floor=25 * 10**9) == 25 * 10**9


@pytest.mark.parametrize(
    ("gas_limit", "desired", "following"),
    [
        (30_000_000, 30_000_000, 30_000_000),
        (30_000_000, 60_000_000, 30_029_295),
        (30_000_000, 1_000_000, 29_970_705),
        (30_000_000, 30_000_001, 30_000_001),
        (30_000_000, 29_999_999, 29_999_999),
        (5_000, 0, 5_000),
    ],
)
def test_gas_limit_moves_towards_the_desired_limit(gas_limit, desired, following):
    assert next_gas_limit(gas_limit, desired) == following


def test_in_the_first_london_block_the_gas_limit_doubles():
    assert next_gas_limit(10_000_000, 20_000_000, first_london=True) == 20_000_000


def test_the_suggested_tip_is_the_sixtieth_percentile_of_the_low_tips_of_each_block():
    assert suggest_tip([(3, 5, 7), (50,)]) == 5


def test_only_the_latest_twenty_blocks_count():
    assert suggest_tip([(1_000,)] * 30 + [(5,)] * 20) == 5


def mined(*tips):
    """Return an accepted block with a transaction for each tip."""
    sent = [signed(nonce=nonce, max_priority_fee_per_gas=tip) for nonce, tip in enumerate(tips)]
    return accepted(1, sent)


def test_low_tips_are_the_three_lowest_of_at_least_two_wei():
    assert low_tips(mined(9, 0, 7, 1, 5, 3)) == (3, 5, 7)


def test_tips_of_the_coinbase_to_itself_are_ignored():
    made = mined(8, 9)
    own = replace(made, header=replace(made.header, coinbase=SENDER))
    assert low_tips(made) == (8, 9)
    assert low_tips(own) == ()
    assert suggest_tip([(), (5,), (5,)], floor=1) == 5


def test_an_empty_chain_suggests_the_floor():
    assert suggest_tip([]) == 0
    assert suggest_tip([], floor=10) == 10
    assert suggest_tip([(), ()], floor=10) == 10


def test_suggested_tip_is_between_floor_and_ceiling():
    assert suggest_tip([(10**12,)], ceiling=500) == 500
    assert suggest_tip([(5,)], floor=10) == 10


def test_equal_tips_of_a_block_are_one_entry():
    assert paid_tips(mined(5, 3, 5)) == (PaidTip(3, 21_000), PaidTip(5, 42_000))


def test_rewards_are_tips_at_percentiles_of_gas():
    tips = (PaidTip(10, 25_000), PaidTip(20, 25_000), PaidTip(30, 50_000))
    fees = block(gas_used=100_000, tips=tips)
    assert rewards_at(fees, [0, 25, 25.001, 50, 50.1, 100]) == (10, 10, 20, 20, 30, 30)


def test_rewards_of_an_empty_block_are_zeros():
    assert rewards_at(block(), [10, 90]) == (0, 0)


def test_fee_history_has_one_more_base_fee_than_blocks():
    blocks = [block(5, number=7), block(number=8, base_fee=96)]
    history = fee_history(blocks, 90, [50.0])
    assert history.oldest_block == 7
    assert history.base_fees == (100, 96, 90)
    assert history.gas_used_ratios == (0.021, 0.0)
    assert history.rewards == ((5,), (0,))


def test_a_fee_history_without_percentiles_has_no_rewards():
    assert fee_history([block(5)], 90).rewards is None
    assert fee_history([block(5)], 90, []).rewards is None


def test_fee_history_can_start_before_london():
    history = fee_history([block(base_fee=None)], INITIAL_BASE_FEE)
    assert history.base_fees == (0, INITIAL_BASE_FEE)


@pytest.mark.parametrize(
    ("percentiles", "reason", "message"),
    [
        ([101.0], PercentileReason.OUT_OF_RANGE, "invalid reward percentile: 101.000000"),
        ([-1], PercentileReason.OUT_OF_RANGE, "invalid reward percentile: -1.000000"),
        ([nan], PercentileReason.OUT_OF_RANGE, "invalid reward percentile: nan"),
        (
            [50.0, 10.0],
            PercentileReason.NOT_ASCENDING,
            "invalid reward percentile: #0:50.000000 >= #1:10.000000",
        ),
        (
            [5, 5],
            PercentileReason.NOT_ASCENDING,
            "invalid reward percentile: #0:5.000000 >= #1:5.000000",
        ),
        (
            list(range(101)),
            PercentileReason.TOO_MANY,
            "invalid reward percentile: over the query limit 100",
        ),
    ],
)
def test_percentiles_must_ascend_between_0_and_100(percentiles, reason, message):
    with raises(reason, kind=InvalidPercentiles) as caught:
        check_percentiles(percentiles)
    assert str(caught.value) == message


def test_coreth_suggests_the_40th_percentile_of_recent_tips() -> None:
    assert suggest_tip_of_coreth([9, 3, 7, 5, 1], last=2) == 3
    assert suggest_tip_of_coreth([], last=2) == 2
    assert suggest_tip_of_coreth([0, 0], last=2) == 1
    assert suggest_tip_of_coreth([0, 0], last=2, floor=4) == 4
    assert suggest_tip_of_coreth([10**12], last=2) == 150 * 10**9
