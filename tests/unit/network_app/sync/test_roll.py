"""Who has said that nothing is missing here, and whom nobody waits for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_app.ports import Agreement
from network_app.sync.roll import ABSENT, APART, Roll
from tests.builders.memory_network import node_id

ALICE, BOB = node_id("alice"), node_id("bob")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def roll(clock: Clock) -> Roll:
    return Roll(clock)


def test_before_the_first_call_nothing_is_known(roll: Roll) -> None:
    assert roll.agreement() is None


def test_where_nobody_is_there_nobody_is_waited_for(roll: Roll) -> None:
    roll.call(())
    assert roll.agreement() == Agreement(0, None)


def test_all_have_to_agree_and_the_earliest_question_counts(roll: Roll, clock: Clock) -> None:
    first = roll.call({ALICE, BOB})
    assert roll.agreement() == Agreement(2, None)
    clock.seconds += 1
    roll.answered(ALICE, first, agrees=True)
    assert roll.agreement() == Agreement(2, None)
    roll.answered(BOB, first, agrees=True)
    assert roll.agreement() == Agreement(2, 1_000.0)

    second = roll.call({ALICE, BOB})
    roll.answered(BOB, second, agrees=True)
    assert roll.agreement() == Agreement(2, 1_000.0)
    roll.answered(ALICE, second, agrees=True)
    assert roll.agreement() == Agreement(2, 1_001.0)


def test_who_has_more_does_not_agree_until_it_is_here_too(roll: Roll, clock: Clock) -> None:
    roll.answered(ALICE, roll.call({ALICE}), agrees=True)
    clock.seconds += 2
    roll.answered(ALICE, roll.call({ALICE}), agrees=False)
    assert roll.agreement() == Agreement(1, 1_000.0)
    clock.seconds += 2
    roll.answered(ALICE, roll.call({ALICE}), agrees=True)
    assert roll.agreement() == Agreement(1, 1_004.0)


def test_a_late_answer_to_an_earlier_question_takes_nothing_back(roll: Roll, clock: Clock) -> None:
    first = roll.call({ALICE})
    clock.seconds += 2
    second = roll.call({ALICE})
    roll.answered(ALICE, second, agrees=True)
    roll.answered(ALICE, first, agrees=True)
    assert roll.agreement() == Agreement(1, second)


def test_who_is_silent_is_not_waited_for_until_it_speaks(roll: Roll, clock: Clock) -> None:
    asked = roll.call({ALICE, BOB})
    roll.answered(BOB, asked, agrees=True)
    clock.seconds += ABSENT - 1
    roll.answered(BOB, roll.call({ALICE, BOB}), agrees=True)
    clock.seconds += 1
    assert roll.agreement() == Agreement(2, None)
    clock.seconds += 0.1
    assert roll.agreement() == Agreement(1, 1_000.0 + ABSENT - 1)

    roll.answered(ALICE, asked, agrees=False)
    assert roll.agreement() == Agreement(2, None)


def test_who_never_agrees_is_not_waited_for_for_ever(roll: Roll, clock: Clock) -> None:
    for _ in range(int(APART)):
        roll.answered(ALICE, roll.call({ALICE}), agrees=False)
        assert roll.agreement() == Agreement(1, None)
        clock.seconds += 1
    clock.seconds += 1
    assert roll.agreement() == Agreement(0, None)
    roll.answered(ALICE, roll.call({ALICE}), agrees=True)
    assert roll.agreement() == Agreement(1, clock.seconds)


def test_who_has_left_is_forgotten_and_begins_anew(roll: Roll, clock: Clock) -> None:
    asked = roll.call({ALICE})
    roll.answered(ALICE, asked, agrees=True)
    roll.call({BOB})
    roll.answered(ALICE, asked, agrees=True)  # of nobody who was called
    assert roll.agreement() == Agreement(1, None)
    roll.call({ALICE})
    assert roll.agreement() == Agreement(1, None)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["call", "yes", "no"]), st.sampled_from([ALICE, BOB]), st.floats(0, 9)
        )
    )
)
def test_agreement_is_never_later_than_the_last_question_that_all_have_answered(
    steps: list[tuple[str, object, float]],
) -> None:
    clock = Clock()
    roll = Roll(clock)
    asked = roll.call({ALICE, BOB})
    agreed = dict.fromkeys((ALICE, BOB), 0.0)
    for kind, who, seconds in steps:
        clock.seconds += seconds
        if kind == "call":
            asked = roll.call({ALICE, BOB})
        else:
            roll.answered(who, asked, agrees=kind == "yes")  # type: ignore[arg-type]
            if kind == "yes":
                agreed[who] = asked  # type: ignore[index]
        found = roll.agreement()
        assert found is not None
        if found.since is not None:
            assert found.since in agreed.values()
            if found.waited_for == 2:
                assert found.since == min(agreed.values())
