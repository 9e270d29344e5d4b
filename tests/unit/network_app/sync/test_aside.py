"""Peers that are set aside for a chain, and the duration."""

from network_app.sync.choosing import FIRST, LONGEST, MOST, REMEMBERED, Aside
from primitives.ids import NodeID

PEER = NodeID(bytes([1]) * 20)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_peer_is_set_aside_on_one_chain_for_a_time() -> None:
    clock = Clock()
    aside = Aside(clock)
    assert aside.put(PEER, "C", "lied") == FIRST
    assert aside.has(PEER, "C")
    assert not aside.has(PEER, "P")
    assert aside.now() == {(PEER, "C"): "lied"}
    clock.now += FIRST
    assert not aside.has(PEER, "C")
    assert aside.now() == {}


def test_each_further_fault_takes_twice_as_long_up_to_a_limit() -> None:
    clock = Clock()
    aside = Aside(clock)
    seconds = []
    for _ in range(9):
        taken = aside.put(PEER, "C", "lied")
        assert taken is not None
        seconds.append(taken)
        clock.now += taken
    assert seconds[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert seconds[-1] == LONGEST


def test_a_fault_while_it_is_aside_makes_it_no_longer() -> None:
    clock = Clock()
    aside = Aside(clock)
    aside.put(PEER, "C", "lied")
    assert aside.put(PEER, "C", "lied again") is None
    clock.now += FIRST
    assert not aside.has(PEER, "C")


def test_old_faults_are_not_counted() -> None:
    clock = Clock()
    aside = Aside(clock)
    aside.put(PEER, "C", "lied")
    clock.now += FIRST + REMEMBERED + 1
    assert aside.put(PEER, "C", "lied") == FIRST


def test_number_of_remembered_peers_is_limited() -> None:
    aside = Aside(Clock())
    for number in range(MOST + 10):
        aside.put(NodeID(number.to_bytes(20, "big")), "C", "lied")
    assert len(aside.now()) == MOST


def test_forgotten_peer_has_no_faults() -> None:
    aside = Aside(Clock())
    other = NodeID(bytes([2]) * 20)
    for alias in ("C", "P"):
        aside.put(PEER, alias, "lied")
    aside.put(other, "C", "lied")

    aside.forget(PEER)

    assert aside.now() == {(other, "C"): "lied"}
    assert aside.put(PEER, "C", "lied") == FIRST
