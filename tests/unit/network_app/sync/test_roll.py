"""Who says that nothing is missing here, and whom nobody waits for."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_app.ports import Standing
from network_app.sync.roll import ABSENT, APART, FORGOTTEN, PAUSE, Roll
from primitives.ids import NodeID
from tests.builders.memory_network import node_id

ALICE, BOB = node_id("alice"), node_id("bob")
BEGAN = 1_000.0


class Clocks:
    """A steady clock, and one on the wall that may be set."""

    def __init__(self) -> None:
        self.steady = 50.0
        self.wall = BEGAN

    def wait(self, seconds: float) -> None:
        self.steady += seconds
        self.wall += seconds

    def make_roll(self) -> Roll:
        return Roll(lambda: self.steady, lambda: self.wall)


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def roll(clocks: Clocks) -> Roll:
    return clocks.make_roll()


def standings(roll: Roll) -> Mapping[NodeID, Standing]:
    found = roll.standings()
    assert found is not None
    return found


def test_before_the_first_call_nothing_is_known(roll: Roll) -> None:
    assert roll.standings() is None


def test_where_nobody_is_there_nobody_is_waited_for(roll: Roll) -> None:
    roll.call(())
    assert standings(roll) == {}


def test_each_agrees_as_of_the_question_that_it_answered(roll: Roll, clocks: Clocks) -> None:
    first = roll.call({ALICE, BOB})
    clocks.wait(1)
    roll.answered(ALICE, first, theirs=7, ours=7)
    assert standings(roll) == {ALICE: Standing(BEGAN, True), BOB: Standing(None, True)}

    second = roll.call({ALICE, BOB})
    clocks.wait(1)
    roll.answered(BOB, second, theirs=7, ours=7)
    assert standings(roll) == {ALICE: Standing(BEGAN, True), BOB: Standing(BEGAN + 1, True)}


def test_who_has_more_takes_back_what_it_said(roll: Roll, clocks: Clocks) -> None:
    roll.answered(ALICE, roll.call({ALICE}), theirs=7, ours=7)
    clocks.wait(2)
    roll.answered(ALICE, roll.call({ALICE}), theirs=8, ours=7)
    assert standings(roll) == {ALICE: Standing(None, True)}
    clocks.wait(2)
    roll.answered(ALICE, roll.call({ALICE}), theirs=7, ours=7)
    assert standings(roll) == {ALICE: Standing(BEGAN + 4, True)}


@pytest.mark.parametrize("later", [True, False])
def test_an_answer_to_an_earlier_question_changes_nothing(roll: Roll, *, later: bool) -> None:
    first = roll.call({ALICE})
    second = roll.call({ALICE})
    roll.answered(ALICE, second, theirs=7, ours=7 if later else 6)
    before = standings(roll)
    roll.answered(ALICE, first, theirs=7, ours=6 if later else 7)
    assert standings(roll) == before


def go_on(roll: Roll, clocks: Clocks, seconds: float, *present: NodeID) -> None:
    """Call each second, and let nobody answer."""
    while seconds > 0:
        clocks.wait(min(1.0, seconds))
        roll.call(present)
        seconds -= 1.0


def test_who_is_silent_is_not_waited_for_until_it_speaks(roll: Roll, clocks: Clocks) -> None:
    roll.call({ALICE})
    go_on(roll, clocks, ABSENT, ALICE)
    assert standings(roll) == {ALICE: Standing(None, True)}
    go_on(roll, clocks, 0.1, ALICE)
    assert standings(roll) == {ALICE: Standing(None, False)}

    roll.answered(ALICE, roll.call({ALICE}), theirs=8, ours=7)
    assert standings(roll) == {ALICE: Standing(None, True)}


def test_who_answers_late_is_there_if_it_is_not_too_late(roll: Roll, clocks: Clocks) -> None:
    for late, is_there in ((5, True), (6, False)):
        calls = [roll.call({ALICE})]
        for _ in range(20):
            clocks.wait(1)
            calls.append(roll.call({ALICE}))
            if len(calls) > late:
                roll.answered(ALICE, calls.pop(0), theirs=7, ours=7)
        clocks.wait(0.5)
        assert standings(roll)[ALICE].waited_for == is_there


def test_who_says_for_long_that_it_has_more_is_not_waited_for(roll: Roll, clocks: Clocks) -> None:
    for _ in range(int(APART) + 1):
        roll.answered(ALICE, roll.call({ALICE}), theirs=8, ours=7)
        assert standings(roll) == {ALICE: Standing(None, True)}
        clocks.wait(1)
    roll.answered(ALICE, roll.call({ALICE}), theirs=9, ours=7)
    assert standings(roll) == {ALICE: Standing(None, False)}
    roll.answered(ALICE, roll.call({ALICE}), theirs=9, ours=9)
    assert standings(roll)[ALICE].waited_for


def test_who_is_ahead_while_we_follow_is_waited_for(roll: Roll, clocks: Clocks) -> None:
    for height in range(5):
        for _ in range(int(APART)):
            roll.answered(ALICE, roll.call({ALICE}), theirs=100, ours=height)
            assert standings(roll) == {ALICE: Standing(None, True)}
            clocks.wait(1)


def test_after_a_pause_all_has_to_be_said_anew(roll: Roll, clocks: Clocks) -> None:
    roll.answered(ALICE, roll.call({ALICE, BOB}), theirs=7, ours=7)
    clocks.wait(PAUSE)
    assert standings(roll).keys() == {ALICE, BOB}
    clocks.wait(0.1)
    assert roll.standings() is None
    roll.call({ALICE})
    assert standings(roll) == {ALICE: Standing(None, True)}


def test_who_has_left_is_waited_for_as_who_is_silent(roll: Roll, clocks: Clocks) -> None:
    roll.answered(ALICE, roll.call({ALICE}), theirs=7, ours=7)
    go_on(roll, clocks, ABSENT)
    assert standings(roll) == {ALICE: Standing(BEGAN, True)}
    go_on(roll, clocks, 1)
    assert standings(roll) == {ALICE: Standing(BEGAN, False)}
    go_on(roll, clocks, 1, ALICE)  # it is back, and says nothing yet
    assert standings(roll) == {ALICE: Standing(BEGAN, False)}
    go_on(roll, clocks, FORGOTTEN)
    assert standings(roll) == {}


def test_the_clock_on_the_wall_may_be_set(roll: Roll, clocks: Clocks) -> None:
    roll.answered(ALICE, roll.call({ALICE}), theirs=7, ours=7)
    clocks.wall -= 500
    assert standings(roll)[ALICE].waited_for
    roll.answered(ALICE, roll.call({ALICE}), theirs=7, ours=7)
    assert standings(roll) == {ALICE: Standing(BEGAN - 500, True)}
    clocks.wall += 5_000
    assert standings(roll)[ALICE].waited_for


def test_nobody_answers_that_was_not_called(roll: Roll) -> None:
    roll.answered(BOB, roll.call({ALICE}), theirs=7, ours=7)
    assert standings(roll).keys() == {ALICE}


steps = st.lists(
    st.tuples(
        st.sampled_from(["call", "yes", "no"]), st.sampled_from([ALICE, BOB]), st.floats(0, 0.1)
    ),
    max_size=int(10 * PAUSE),
)


@given(steps)
def test_agreement_is_the_last_answer_and_no_later_than_its_question(
    steps: list[tuple[str, NodeID, float]],
) -> None:
    clocks = Clocks()
    roll = clocks.make_roll()
    call = roll.call({ALICE, BOB})
    said: dict[NodeID, tuple[int, float | None]] = {ALICE: (0, None), BOB: (0, None)}
    for kind, who, seconds in steps:
        clocks.wait(seconds)
        if kind == "call":
            call = roll.call({ALICE, BOB})
        else:
            roll.answered(who, call, theirs=7, ours=7 if kind == "yes" else 6)
            if call.number > said[who][0]:
                said[who] = call.number, call.asked_at if kind == "yes" else None
        found = {node_id: one.agreed_at for node_id, one in standings(roll).items()}
        assert found == {node_id: agreed_at for node_id, (_, agreed_at) in said.items()}
