"""Whose turn it is: this node's, unless a rule says otherwise."""

from collections.abc import Iterator

import pytest

from chaindb import turns
from chaindb.chains import Chain


@pytest.fixture(autouse=True)
def _no_rule() -> Iterator[None]:
    yield
    turns.install(None)


def test_a_node_alone_may_always_make_a_block() -> None:
    assert turns.may_produce(Chain.C, 1, 0)


def test_an_installed_rule_is_asked_with_chain_height_and_time() -> None:
    asked = []

    def only_even_heights(chain: Chain, height: int, now: int | None) -> bool:
        asked.append((chain, height, now))
        return height % 2 == 0

    turns.install(only_even_heights)
    assert [turns.may_produce(Chain.P, height, 77) for height in (4, 5)] == [True, False]
    assert asked == [(Chain.P, 4, 77), (Chain.P, 5, 77)]


def test_before_a_block_is_accepted_the_rule_reads_the_clock() -> None:
    asked = []

    def rule(chain: Chain, height: int, now: int | None) -> bool:
        asked.append((chain, height, now))
        return False

    turns.hold(Chain.C, 9)
    turns.install(rule)
    words = "^the turn ended while the C-Chain's block 9 was made$"
    with pytest.raises(turns.TurnOver, match=words):
        turns.hold(Chain.C, 9)
    assert asked == [(Chain.C, 9, None)]


def test_a_rule_can_be_taken_away_again() -> None:
    turns.install(lambda chain, height, now: False)
    turns.install(None)
    assert turns.may_produce(Chain.P, 1, 0)
