"""Whose claims are followed."""

from network_app.sync.claims import IGNORED, MOST_DOUBLINGS, MOST_FAILURES, Credit
from primitives.ids import NodeID

ONE, OTHER = NodeID(bytes([1]) * 20), NodeID(bytes([2]) * 20)


class Clock:
    """A time that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_fails_often_is_ignored_for_a_while_and_then_has_one_attempt() -> None:
    clock = Clock()
    credit = Credit(clock)
    for _ in range(MOST_FAILURES):
        assert credit.believes(ONE)
        credit.failed([ONE])
    assert not credit.believes(ONE)
    assert credit.believes(OTHER)
    clock.now = IGNORED
    assert credit.believes(ONE)
    credit.failed([ONE])
    clock.now += 2 * IGNORED - 1
    assert not credit.believes(ONE)


def test_the_time_of_being_ignored_has_an_end_whatever_was_claimed() -> None:
    clock = Clock()
    credit = Credit(clock)
    for _ in range(2000):
        credit.failed([ONE])
    clock.now = IGNORED * 2**MOST_DOUBLINGS - 1
    assert not credit.believes(ONE)
    clock.now += 1
    assert credit.believes(ONE)


def test_what_was_there_makes_good_what_failed() -> None:
    credit = Credit(Clock())
    for _ in range(MOST_FAILURES):
        credit.failed([ONE, OTHER])
    credit.kept([ONE])
    assert credit.believes(ONE)
    assert not credit.believes(OTHER)
