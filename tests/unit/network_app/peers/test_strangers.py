"""The limit of unsent data that all unknown peers share."""

from dataclasses import dataclass, field

import pytest

from network_app.peers.errors import PeerReason
from network_app.peers.unknown_peers import LARGE, PATIENCE, SendBufferLimit


@dataclass
class Outbox:
    """A send buffer that a test fills."""

    unsent: int = 0
    blocked_since: float | None = None
    is_stranger: bool = True
    ended: list[Exception] = field(default_factory=list)

    def end(self, reason: Exception) -> None:
        self.ended.append(reason)


def room(*outboxes: Outbox, most: int = 10 * LARGE) -> SendBufferLimit:
    return SendBufferLimit(most, lambda: outboxes)


def test_strangers_share_one_room() -> None:
    full = [Outbox(5 * LARGE), Outbox(4 * LARGE)]
    asker = Outbox()

    assert room(*full, asker).has_room(asker, LARGE + 0, 0.0)
    assert not room(*full, asker).has_room(asker, 2 * LARGE, 0.0)
    assert room(*full, asker, most=11 * LARGE).has_room(asker, 2 * LARGE, 0.0)


def test_who_is_known_takes_none_of_it() -> None:
    asker = Outbox()

    assert room(Outbox(100 * LARGE, is_stranger=False), asker).has_room(asker, 2 * LARGE, 0.0)


def test_a_large_answer_comes_after_the_last_one_was_sent() -> None:
    asker = Outbox(unsent=LARGE + 1)

    assert not room(asker).has_room(asker, LARGE + 1, 0.0)
    assert room(asker).has_room(asker, LARGE, 0.0)
    asker.unsent = LARGE
    assert room(asker).has_room(asker, LARGE + 1, 0.0)


def test_a_small_message_always_goes_to_whom_nothing_waits_for() -> None:
    asker = Outbox()

    assert room(Outbox(100 * LARGE), asker).has_room(asker, LARGE, 0.0)
    asker.unsent = 1
    assert not room(Outbox(100 * LARGE), asker).has_room(asker, 1, 0.0)


@pytest.mark.parametrize(("now", "ended"), [(PATIENCE - 0.1, 0), (PATIENCE, 1)])
def test_who_reads_nothing_gives_way_when_the_room_is_full(now: float, ended: int) -> None:
    slow, slower = Outbox(5 * LARGE, blocked_since=1.0), Outbox(5 * LARGE, blocked_since=0.0)
    reading, asker = Outbox(LARGE), Outbox()

    assert not room(slow, slower, reading, asker).has_room(asker, 2 * LARGE, now)

    assert len(slower.ended) == ended
    assert all(error.reason is PeerReason.NOTHING_TAKEN for error in slower.ended)
    assert not slow.ended + reading.ended + asker.ended
