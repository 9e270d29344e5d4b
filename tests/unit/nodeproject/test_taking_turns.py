"""NODE_PRODUCERS names one, several or all; where the validators vote it names nobody."""

from dataclasses import replace

import pytest

from nodeproject.settings.node import NODE


@pytest.mark.parametrize(
    ("producers", "takes_turns"),
    [((), False), (("NodeID-A",), False), (("NodeID-A", "NodeID-B"), True), (("all",), True)],
)
def test_several_take_turns(producers: tuple[str, ...], *, takes_turns: bool) -> None:
    assert replace(NODE, producers=producers).takes_turns == takes_turns


def test_who_follows_others_may_be_told_that_several_do() -> None:
    assert replace(NODE, producers=(), bootstrap=("127.0.0.1:9651",)).takes_turns
    assert not replace(NODE, producers=("NodeID-x",), bootstrap=("127.0.0.1:9651",)).takes_turns


def test_where_the_validators_vote_each_has_its_slots() -> None:
    assert replace(NODE, consensus="snowman").takes_turns
