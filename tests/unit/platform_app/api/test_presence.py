"""Uptimes are read at most once a second, and shown as of the time of the call."""

from dataclasses import dataclass, field

import pytest

from chaindb import clock
from platform_app.api import presence
from platform_app.api.presence import Presence, PresenceMemory
from platform_app.apps import platform_chain
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import stakers
from platform_app.store.uptime import Uptime
from primitives.ids import NodeID
from tests.builders.platform import NOW, some_id

OWN, OTHER, AWAY = (NodeID(bytes([number]) * 20) for number in range(3))
END = NOW + 100_000


@dataclass
class Elapsed:
    """A clock that a test advances, and the number of reads of uptimes."""

    seconds: float = 0.0
    reads: list[object] = field(default_factory=list)
    tracking: bool = True

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def elapsed(monkeypatch: pytest.MonkeyPatch) -> Elapsed:
    made = Elapsed()
    seen = {
        OTHER: Uptime(some_id("a"), OTHER, NOW - 1000, END, 500, NOW - 500, NOW - 800),
        AWAY: Uptime(some_id("b"), AWAY, NOW - 1000, END, 250, NOW - 500, None),
    }

    def uptimes(_chain: object, node_ids: object = None) -> dict[NodeID, Uptime]:
        made.reads.append(node_ids)
        return seen

    monkeypatch.setattr(stakers, "uptimes", uptimes)
    monkeypatch.setattr(stakers, "tracking", lambda _chain: made.tracking)
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(presence, "own_node_id", lambda _chain: OWN)
    return made


def nobody() -> CurrentSet:
    return CurrentSet((), {}, 0)


@pytest.mark.usefixtures("elapsed")
def test_presence_has_uptime_and_connection() -> None:
    found = presence.of_nodes(platform_chain(), [OTHER, AWAY])

    assert found.of(OTHER) == Presence(1.0, connected=True)
    assert found.of(AWAY) == Presence(0.25, connected=False)


def test_all_nodes_are_online_before_tracking_starts(elapsed: Elapsed) -> None:
    elapsed.tracking = False

    assert presence.of_nodes(platform_chain(), [AWAY]).of(AWAY) == Presence(0.75, connected=False)


@pytest.mark.usefixtures("elapsed")
def test_own_node_is_connected_and_unknown_nodes_have_full_uptime() -> None:
    found = presence.of_nodes(platform_chain(), [])

    assert found.of(OWN) == Presence(1.0, connected=True)
    assert found.of(NodeID(bytes([9]) * 20)) == Presence(1.0, connected=False)


def test_a_set_is_read_again_after_a_second(elapsed: Elapsed) -> None:
    memory, present = PresenceMemory(platform_chain(), elapsed), nobody()
    for elapsed.seconds in (0.0, 0.5, 0.99, 1.0, 1.9):
        memory.of_all(present)

    assert elapsed.reads == [None, None]


def test_another_set_is_read_at_once(elapsed: Elapsed) -> None:
    memory = PresenceMemory(platform_chain(), elapsed)
    for present in (nobody(), nobody()):
        memory.of_all(present)

    assert len(elapsed.reads) == 2


def test_cached_presence_is_extended_to_now(
    elapsed: Elapsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, present = PresenceMemory(platform_chain(), elapsed), nobody()
    memory.of_all(present)
    monkeypatch.setattr(clock, "now", lambda: NOW + 1000)

    assert memory.of_all(present).of(OTHER).uptime == 1.0
    assert memory.of_all(present).of(AWAY).uptime == 250 / 2000
    assert len(elapsed.reads) == 1
