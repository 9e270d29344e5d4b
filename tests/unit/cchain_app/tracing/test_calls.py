"""The frames that match a search, their outcomes, and the creator of a contract."""

import pytest

from cchain_app.tracing.calls import CallFilter, creator_of, outcomes
from cchain_app.tracing.parity import placed
from tests.builders.traces import CALLEE, CALLER, OTHER, frame, selfdestruct

SENDERS, RECIPIENTS = frozenset({CALLER}), frozenset({OTHER})


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (CallFilter(), True),
        (CallFilter(SENDERS), True),
        (CallFilter(recipients=RECIPIENTS), False),
        (CallFilter(SENDERS, RECIPIENTS), True),
        (CallFilter(SENDERS, RECIPIENTS, intersection=True), False),
        (CallFilter(SENDERS, frozenset({CALLEE}), intersection=True), True),
    ],
)
def test_from_and_to_lists_combine_by_mode(wanted, matches):
    assert wanted.matches(frame()) is matches


def test_selfdestruct_matches_its_beneficiary():
    assert CallFilter(recipients=RECIPIENTS).matches(selfdestruct(1))
    assert CallFilter(frozenset({CALLEE})).matches(selfdestruct(1))


@pytest.mark.parametrize(
    ("error", "found"), [(None, True), ("execution reverted", True), ("out of gas", False)]
)
def test_a_creation_is_found_by_the_address_that_its_entry_names(error, found):
    creation = frame(type="CREATE", to=OTHER, error=error)

    assert CallFilter(recipients=RECIPIENTS).matches(creation) is found


def test_frames_inside_a_failed_frame_did_not_succeed():
    frames = [frame(), frame(1, error="out of gas"), frame(2), frame(1)]

    assert list(outcomes(placed(frames))) == [True, False, False, True]


def test_creator_is_the_caller_of_the_last_successful_creation():
    made = {"type": "CREATE2", "to": OTHER}
    frames = [
        frame(),
        frame(1, sender=CALLER, **made),
        frame(1, sender=CALLEE, **made),
        frame(1, error="out of gas"),
        frame(2, sender=CALLER, **made),
    ]

    assert creator_of(OTHER, frames) == CALLEE
    assert creator_of(CALLER, frames) is None
