"""How much is offered to a maker of blocks that was late."""

import logging

import pytest

from chaindb.offers import LEAST_PARTS, Offer
from chainvm.consensus import TurnOver

LATE = TurnOver(5)


def offered(offer: Offer, waiting: int = 1_000) -> int:
    return len(list(offer.of(range(waiting))))


def test_all_is_offered_where_no_block_was_late() -> None:
    assert offered(Offer(10)) == 1_000


def test_each_block_that_is_late_halves_it_and_each_in_time_doubles_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    offer = Offer(64)
    sizes = []
    for _ in range(3):
        offer.was_late(LATE)
        sizes.append(offered(offer))
    for _ in range(3):
        offer.was_taken()
        sizes.append(offered(offer))
    assert sizes == [32, 16, 8, 16, 32, 1_000]
    words = "the turn ended while block 5 was built: less is offered to the next one"
    assert caplog.record_tuples[0] == ("chaindb.offers", logging.WARNING, words)


def test_what_waits_first_is_offered_and_one_at_least() -> None:
    offer = Offer(10)
    for _ in range(50):
        offer.was_late(LATE)
    assert list(offer.of("abc")) == ["a"]
    for _ in range(LEAST_PARTS.bit_length() - 1):
        offer.was_taken()
    assert offered(offer) == 1_000
