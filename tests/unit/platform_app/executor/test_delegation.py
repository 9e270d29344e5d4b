"""The greatest weight of a validator within a period (pchain.md 5.4.3, over-delegation)."""

from hypothesis import given
from hypothesis import strategies as st

from platform_app.executor.staking import greatest_weight
from platform_app.state.stakers import Priority, Staker
from tests.builders import platform
from tests.builders.platform_state import staker, stakers, state

NOW = platform.NOW


def delegator(name: str, weight: int, start: int, end: int) -> Staker:
    """Return a delegator with times relative to `NOW`; pending if its start is later."""
    pending = start > 0
    return staker(
        name,
        weight=weight,
        start=NOW + start,
        end=NOW + end,
        priority=Priority.PRIMARY_DELEGATOR_PENDING
        if pending
        else Priority.PRIMARY_DELEGATOR_CURRENT,
    )


def greatest(delegators: list[Staker], start: int, end: int, own: int = 100) -> int:
    validator = staker(weight=own)
    holder = state(stakers=stakers(validator, *delegators))
    return greatest_weight(holder, validator, start=NOW + start, end=NOW + end)


def test_alone_a_validator_has_its_own_weight() -> None:
    assert greatest([], 1, 10) == 100


def test_current_delegators_count() -> None:
    assert greatest([delegator("a", 7, 0, 50)], 1, 10) == 107


def test_delegator_that_ends_before_the_period_does_not_count() -> None:
    assert greatest([delegator("a", 7, 0, 4)], 5, 10) == 100


def test_delegator_that_ends_at_the_start_counts() -> None:
    assert greatest([delegator("a", 7, 0, 5)], 5, 10) == 107


def test_delegator_that_starts_in_the_period_counts() -> None:
    assert greatest([delegator("a", 7, 8, 50)], 5, 10) == 107


def test_delegator_that_starts_at_the_end_counts() -> None:
    assert greatest([delegator("a", 7, 10, 50)], 5, 10) == 107


def test_delegator_that_starts_after_the_period_does_not_count() -> None:
    assert greatest([delegator("a", 7, 11, 50)], 5, 10) == 100


def test_delegator_entirely_before_the_period_does_not_count() -> None:
    assert greatest([delegator("a", 7, 1, 3)], 5, 10) == 100


def test_simultaneous_additions_precede_removals() -> None:
    both = [delegator("a", 7, 0, 8), delegator("b", 5, 8, 50)]

    assert greatest(both, 5, 10) == 112


def test_maximum_weight_over_the_period_counts() -> None:
    several = [delegator("a", 7, 0, 7), delegator("b", 5, 8, 50), delegator("c", 4, 9, 50)]

    assert greatest(several, 5, 10) == 109


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(-3, 12), st.integers(1, 12)).filter(
            lambda one: one[1] < one[2] and one[2] > 0
        ),
        max_size=6,
    ),
    st.integers(1, 12),
    st.integers(0, 6),
)
def test_second_by_second_nothing_is_greater(
    periods: list[tuple[int, int, int]], start: int, length: int
) -> None:
    many = [delegator(f"{n}", *period) for n, period in enumerate(periods)]
    end = start + length

    # A delegator counts from its start to its end, both seconds included; within the same second,
    # additions come first.
    def weight_at(second: int) -> int:
        return 100 + sum(item.weight for item in many if item.start <= NOW + second <= item.end)

    assert greatest(many, start, end) == max(map(weight_at, range(start, end + 1)))
