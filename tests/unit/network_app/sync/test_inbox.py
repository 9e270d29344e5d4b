"""Blocks that came: those of who makes blocks come first, and have their own room."""

import pytest

from network_app.sync import inbox
from network_app.sync.inbox import Arrival, Inbox
from primitives.ids import NodeID

SENDER = NodeID(b"s" * 20)


def arrival(name: int, *, producer: bool, size: int = 4) -> Arrival:
    return Arrival(name.to_bytes(size, "big"), SENDER, producer)


def test_who_makes_blocks_is_read_first() -> None:
    box = Inbox()
    for name in range(4):
        assert box.add(arrival(name, producer=name % 2 == 1))
    assert [int.from_bytes(one.raw, "big") for one in box.take()] == [1, 3, 0, 2]
    assert box.take() == []


def test_some_are_read_at_once_and_the_others_later() -> None:
    box = Inbox()
    for name in range(inbox.AT_ONCE + 3):
        box.add(arrival(name, producer=False))
    assert [len(box.take()) for _ in range(3)] == [inbox.AT_ONCE, 3, 0]


@pytest.mark.parametrize("producer", [False, True])
def test_there_is_room_for_so_many_blocks_and_bytes(*, producer: bool) -> None:
    part = inbox.MOST_BLOCKS // inbox.PART
    most = inbox.MOST_BLOCKS - part if producer else part
    box = Inbox()
    added = [box.add(arrival(name, producer=producer)) for name in range(most + 1)]
    assert added == [True] * most + [False]
    assert len(box) == most
    assert box.add(arrival(0, producer=not producer))

    box.clear()
    assert len(box) == 0
    size = inbox.MOST_BYTES // inbox.PART
    large = [box.add(arrival(0, producer=producer, size=size)) for _ in range(inbox.PART)]
    assert large == [producer, producer, producer, False] if producer else [True, *[False] * 3]
    taken = box.take()
    assert box.add(taken[0])
