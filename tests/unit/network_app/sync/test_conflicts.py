"""What is said of blocks that contradict ours, and until when."""

import logging

import pytest

from network_app.sync.conflicts import OVER, Conflict, Conflicts
from primitives.ids import ID, NodeID

OURS, THEIRS, PRODUCER = ID(b"a" * 32), ID(b"b" * 32), NodeID(b"p" * 20)
WORDS = f"the C-Chain's block 7 here is {OURS}, the producer's is {THEIRS} ({PRODUCER})"


def test_a_conflict_is_logged_once_and_stays(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    conflicts = Conflicts("C", lambda: now[0])
    assert conflicts.words is None

    with caplog.at_level(logging.ERROR):
        for height in (7, 8):
            conflicts.found(Conflict(height, OURS, THEIRS, PRODUCER))
    now[0] = 10 * OVER

    assert conflicts.words == WORDS
    assert caplog.messages == [f"fork: {WORDS}"]


def test_it_is_over_when_blocks_are_accepted_long_after_the_last_one() -> None:
    now = [0.0]
    conflicts = Conflicts("C", lambda: now[0])
    conflicts.advanced()
    conflicts.found(Conflict(7, OURS, THEIRS, PRODUCER))
    now[0] = OVER
    conflicts.advanced()
    assert conflicts.words == WORDS
    conflicts.found(Conflict(8, OURS, THEIRS, PRODUCER))
    now[0] += OVER
    conflicts.advanced()
    assert conflicts.words == WORDS
    now[0] += 1
    conflicts.advanced()
    assert conflicts.words is None
