"""NODE_PRODUCERS names one, several or all."""

from dataclasses import replace

import pytest

from nodeproject.settings.node import NODE


@pytest.mark.parametrize(
    ("producers", "takes_turns"),
    [((), False), (("NodeID-A",), False), (("NodeID-A", "NodeID-B"), True), (("all",), True)],
)
def test_several_take_turns(producers: tuple[str, ...], *, takes_turns: bool) -> None:
    assert replace(NODE, producers=producers).takes_turns == takes_turns
