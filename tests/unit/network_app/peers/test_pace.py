"""How fast a stranger is read, and how fast one that is known."""

from network_app.config import NetworkConfig
from network_app.peers.pace import Pace
from network_app.peers.throttle import TokenBucket

CONFIG = NetworkConfig(
    network_id=1, peer_rate=400, stranger_rate=50, strangers_rate=100, peer_burst=200
)


class Paces:
    """Peers that share what strangers have; the known ones are those in `known`."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.shared = TokenBucket(CONFIG.strangers_rate, CONFIG.strangers_rate, 0.0)

    def of(self, name: str) -> Pace:
        return Pace(CONFIG, self.shared, lambda: name not in self.known, 0.0)


def test_a_stranger_is_read_slowly_and_who_is_known_fast() -> None:
    paces = Paces()
    stranger, known = paces.of("stranger"), paces.of("known")
    paces.known.add("known")

    assert stranger.take(300, 0.0) == 2.0
    assert known.take(600, 0.0) == 1.0


def test_a_stranger_that_becomes_known_is_read_fast_from_then_on() -> None:
    paces = Paces()
    peer = paces.of("peer")
    peer.take(600, 0.0)

    paces.known.add("peer")

    assert peer.take(0, 0.0) == 1.0


def test_strangers_wait_for_each_other_and_others_do_not() -> None:
    paces = Paces()
    paces.known.add("known")
    for name in "abcd":
        paces.of(name).take(200, 0.0)

    assert paces.of("e").take(1, 0.0) > 7.0
    assert paces.of("f").take(1, 0.0, alone=True) == 0.0
    assert paces.of("known").take(1, 0.0) == 0.0


def test_what_was_asked_for_is_read_at_once() -> None:
    paces = Paces()
    asked = paces.of("asked")
    asked.take(200, 0.0)
    assert asked.take(0, 0.0) == 1.0

    asked.expect(200)

    assert asked.take(100, 0.0) == 0.0
