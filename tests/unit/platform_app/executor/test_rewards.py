"""Rewards near the supply cap, and their two parts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.config import DAY, UNIT, RewardConfig
from platform_app.executor.rewards import potential_reward, split

CONFIG = RewardConfig()
SUPPLY = 360_000_000 * UNIT
AMOUNTS = st.integers(1, 3_000_000 * UNIT)
DURATIONS = st.integers(DAY, 365 * DAY)


def reward(*, supply: int = SUPPLY, amount: int = 2_000 * UNIT, duration: int = 365 * DAY) -> int:
    return potential_reward(CONFIG, supply=supply, amount=amount, duration=duration)


def test_full_period_has_the_full_reward_rate() -> None:
    remaining = CONFIG.supply_cap - SUPPLY

    assert reward() == remaining * 12 * 2_000 * UNIT // 100 // SUPPLY


def test_reward_is_zero_at_the_supply_cap() -> None:
    assert reward(supply=CONFIG.supply_cap) == 0
    assert reward(supply=CONFIG.supply_cap + 1) == 0


def test_reward_does_not_exceed_the_remaining_supply() -> None:
    assert reward(supply=1, amount=3_000_000 * UNIT) == CONFIG.supply_cap - 1


@settings(deadline=None)
@given(st.integers(UNIT, 2 * 10**18), AMOUNTS, DURATIONS)
def test_supply_does_not_exceed_the_cap(supply: int, amount: int, duration: int) -> None:
    minted = reward(supply=supply, amount=amount, duration=duration)

    assert 0 <= minted <= CONFIG.supply_cap - supply


@settings(deadline=None)
@given(AMOUNTS, DURATIONS, st.integers(1, DAY))
def test_reward_grows_with_amount_and_duration(amount: int, duration: int, more: int) -> None:
    earned = reward(amount=amount, duration=duration)

    assert earned <= reward(amount=amount, duration=duration + more)
    assert earned <= reward(amount=amount + more, duration=duration)


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 1_000_000))
def test_the_two_parts_are_the_whole(total: int, shares: int) -> None:
    delegatee, delegator = split(total, shares)

    assert delegatee + delegator == total
    assert 0 <= delegator <= total * (1_000_000 - shares) // 1_000_000


def test_remainder_of_the_split_goes_to_the_validator() -> None:
    assert split(1, 1) == (1, 0)
    assert split(3, 500_000) == (2, 1)
    assert split(100, 0) == (0, 100)
    assert split(100, 1_000_000) == (100, 0)
