"""Base fee, gas limit, suggested tip and fee history."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.feemarket import (
    INITIAL_BASE_FEE,
    BlockFees,
    InvalidPercentiles,
    PaidGas,
    PercentileReason,
    check_percentiles,
    fee_history,
    next_base_fee,
    next_gas_limit,
    rewards_at,
    suggest_tip,
)
from primitives.evm import Address
from primitives.recursion import recursion_limit_restored
from tests.builders.reasons import raises

with recursion_limit_restored():
    from ethereum.forks.prague.fork import calculate_base_fee_per_gas
    from ethereum_types.numeric import Uint

COINBASE = Address(b"\x01" + bytes(19))
SENDER = Address(b"\x02" * 20)


def block(*tips, gas_used=None, sender=SENDER, **changes):
    """Return a block whose transactions use 21,000 gas each and have these tips."""
    fields = {
        "number": 1,
        "coinbase": COINBASE,
        "base_fee": 100,
        "gas_used": 21_000 * len(tips) if gas_used is None else gas_used,
        "gas_limit": 1_000_000,
        "paid": tuple(PaidGas(sender, tip, 21_000) for tip in tips),
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


def test_the_suggested_tip_is_the_sixtieth_percentile_of_the_three_lowest_of_each_block():
    assert suggest_tip([block(9, 7, 5, 3), block(50)]) == 5


def test_only_the_latest_twenty_blocks_count():
    assert suggest_tip([block(1_000)] * 30 + [block(5)] * 20) == 5


def test_tips_below_two_wei_and_of_the_coinbase_are_ignored():
    assert suggest_tip([block(0, 1, 8)]) == 8
    assert suggest_tip([block(8, sender=COINBASE), block(5), block(5)], floor=1) == 5


def test_an_empty_chain_suggests_the_floor():
    assert suggest_tip([]) == 0
    assert suggest_tip([], floor=10) == 10
    assert suggest_tip([block(), block()], floor=10) == 10


def test_suggested_tip_is_between_floor_and_ceiling():
    assert suggest_tip([block(10**12)], ceiling=500) == 500
    assert suggest_tip([block(5)], floor=10) == 10


def test_rewards_are_tips_at_percentiles_of_gas():
    paid = (PaidGas(SENDER, 30, 50_000), PaidGas(SENDER, 10, 25_000), PaidGas(SENDER, 20, 25_000))
    fees = block(gas_used=100_000, paid=paid)
    assert rewards_at(fees, [0, 25, 25.001, 50, 50.1, 100]) == (10, 10, 20, 20, 30, 30)


def test_rewards_of_an_empty_block_are_zeros():
    assert rewards_at(block(), [10, 90]) == (0, 0)


def test_a_fee_history_has_one_base_fee_more_than_blocks():
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
