"""The read rates of unknown and of known peers."""

import pytest

from network_app.config import NetworkConfig
from network_app.peers import unknown_peers
from network_app.peers.unknown_peers import RECENT, ReadThrottle, UnknownPeers

CONFIG = NetworkConfig(
    network_id=1, peer_rate=400, stranger_rate=50, strangers_rate=100, peer_burst=200
)


@pytest.fixture(autouse=True)
def _small_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_peers, "MIN_BURST", 20)


class Paces:
    """Peers that share the limits of unknown peers; those in `known` are known."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.crowd = UnknownPeers(CONFIG)

    def of(self, name: str) -> ReadThrottle:
        return ReadThrottle(CONFIG, self.crowd, lambda: name not in self.known, 0.0)

    def crowded(self, count: int, now: float = 0.0) -> list[ReadThrottle]:
        """Let `count` unknown peers be read."""
        came = [self.of(f"stranger {number}") for number in range(count)]
        for item in came:
            item.take(0, now)
        return came


def test_unknown_peer_is_read_slower_than_a_known_one() -> None:
    paces = Paces()
    stranger, known = paces.of("stranger"), paces.of("known")
    paces.known.add("known")

    assert stranger.take(200, 0.0) == 2.0
    assert known.take(600, 0.0) == 1.0


def test_peer_that_becomes_known_is_read_fast() -> None:
    paces = Paces()
    peer = paces.of("peer")
    peer.take(500, 0.0)

    paces.known.add("peer")

    assert peer.take(0, 0.0) == 1.0
    assert len(paces.crowd) == 0


def test_busy_unknown_peers_do_not_delay_a_quiet_one() -> None:
    paces = Paces()
    for item in paces.crowded(16):
        item.take(100_000, 0.0)

    assert paces.of("honest").take(20, 0.0) == 0.0


def test_unknown_peers_share_the_total_read_rate() -> None:
    paces = Paces()
    came = paces.crowded(20)
    for other in came:
        other.take(20, 0.0)  # its burst

    assert [item.take(5, 0.0) for item in came] == [1.0] * 20


def test_a_burst_that_was_saved_up_alone_is_not_had_among_many() -> None:
    paces = Paces()

    assert [item.take(25, 1000.0) for item in paces.crowded(20, 1000.0)] == [1.0] * 20


def test_idle_and_closed_peers_have_no_share() -> None:
    paces = Paces()
    staying, leaving = paces.crowded(2)
    paces.crowded(18, RECENT / 2)
    staying.take(1, RECENT)
    assert len(paces.crowd) == 20

    leaving.end()
    assert len(paces.crowd) == 19
    staying.take(1, RECENT * 1.6)
    assert len(paces.crowd) == 1


def test_handshake_is_not_delayed_by_other_peers() -> None:
    paces = Paces()
    paces.crowded(100)

    assert paces.of("newcomer").take(250, 0.0, alone=True) == 1.0


def test_requested_bytes_are_not_throttled() -> None:
    paces = Paces()
    asked = paces.crowded(20)[0]
    asked.take(20, 0.0)
    assert asked.take(5, 0.0) == 1.0

    asked.expect(1000)

    assert asked.take(900, 0.0) == 1.0
    assert asked.take(105, 0.0) == 2.0
