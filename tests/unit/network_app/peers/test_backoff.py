"""Delays between dials: short at first, longer with each failure, random, bounded."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.peers.dialer import BackOff
from tests.searching import cases


def test_the_first_wait_is_the_shortest() -> None:
    assert BackOff(1.0, 60.0).wait() == 1.0


@settings(max_examples=cases(30))
@given(st.integers())
def test_each_wait_is_up_to_twice_as_long_until_the_longest(seed: int) -> None:
    back_off = BackOff(1.0, 60.0, random.Random(seed))
    waits = [back_off.wait() for _ in range(40)]

    for earlier, later in itertools.pairwise(waits):
        assert later <= 60.0
        assert earlier <= later <= 2 * earlier or 45.0 <= later <= 60.0
    assert all(wait >= 45.0 for wait in waits[-3:])


def test_success_resets_the_back_off() -> None:
    back_off = BackOff(0.5, 60.0)
    for _ in range(20):
        back_off.wait()

    back_off.reset()

    assert back_off.wait() == 0.5


def test_back_off_delays_are_random() -> None:
    one, two = BackOff(1.0, 60.0, random.Random(1)), BackOff(1.0, 60.0, random.Random(2))

    assert [one.wait() for _ in range(10)] != [two.wait() for _ in range(10)]
