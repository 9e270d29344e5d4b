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


def test_unknown_peers_share_one_send_limit() -> None:
    full = [Outbox(5 * LARGE), Outbox(4 * LARGE)]
    asker = Outbox()

    assert room(*full, asker).has_room(asker, LARGE + 0, 0.0)
    assert not room(*full, asker).has_room(asker, 2 * LARGE, 0.0)
    assert room(*full, asker, most=11 * LARGE).has_room(asker, 2 * LARGE, 0.0)


def test_known_peers_do_not_use_the_send_limit() -> None:
    asker = Outbox()

    assert room(Outbox(100 * LARGE, is_stranger=False), asker).has_room(asker, 2 * LARGE, 0.0)


def test_large_answer_waits_for_the_previous_one() -> None:
    asker = Outbox(unsent=LARGE + 1)

    assert not room(asker).has_room(asker, LARGE + 1, 0.0)
    assert room(asker).has_room(asker, LARGE, 0.0)
    asker.unsent = LARGE
    assert room(asker).has_room(asker, LARGE + 1, 0.0)


def test_small_message_to_an_idle_peer_is_always_sent() -> None:
    asker = Outbox()

    assert room(Outbox(100 * LARGE), asker).has_room(asker, LARGE, 0.0)
    asker.unsent = 1
    assert not room(Outbox(100 * LARGE), asker).has_room(asker, 1, 0.0)


@pytest.mark.parametrize(("now", "ended"), [(PATIENCE - 0.1, 0), (PATIENCE, 1)])
def test_slowest_unknown_peer_is_closed_when_the_send_limit_is_reached(
    now: float, ended: int
) -> None:
    slow, slower = Outbox(5 * LARGE, blocked_since=1.0), Outbox(5 * LARGE, blocked_since=0.0)
    reading, asker = Outbox(LARGE), Outbox()

    assert not room(slow, slower, reading, asker).has_room(asker, 2 * LARGE, now)

    assert len(slower.ended) == ended
    assert all(error.reason is PeerReason.NOTHING_TAKEN for error in slower.ended)
    assert not slow.ended + reading.ended + asker.ended
