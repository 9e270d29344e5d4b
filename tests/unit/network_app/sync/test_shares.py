"""The queue of received transactions: a flood from one sender yields to others."""

from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.sync.tx_queue import FairQueue, ReceivedTransaction
from primitives.ids import NodeID
from tests.searching import cases

FLOODER, HONEST, OTHER = (NodeID(bytes([at]) * 20) for at in range(3))


def test_flood_does_not_displace_other_senders() -> None:
    queue = FairQueue(most=100)
    for at in range(1000):
        queue.add(b"flood %d" % at, FLOODER)
    for at in range(30):
        queue.add(b"honest %d" % at, HONEST)
    assert len(queue) == 100
    found = queue.take(200)
    assert [item.raw for item in found if item.sender == HONEST] == [
        b"honest %d" % at for at in range(30)
    ]
    assert len(queue) == queue.size == 0


def test_senders_are_taken_by_turns() -> None:
    queue = FairQueue()
    for at in range(100):
        queue.add(b"flood %d" % at, FLOODER)
    queue.add(b"honest", HONEST)
    queue.add(b"other", OTHER)
    assert queue.take(4) == [
        ReceivedTransaction(b"flood 0", FLOODER),
        ReceivedTransaction(b"honest", HONEST),
        ReceivedTransaction(b"other", OTHER),
        ReceivedTransaction(b"flood 1", FLOODER),
    ]


def test_sender_with_most_bytes_loses_transactions() -> None:
    queue = FairQueue(most=1000, most_bytes=1000)
    for _ in range(9):
        queue.add(bytes(100), FLOODER)
    for _ in range(40):
        queue.add(bytes(10), HONEST)
    assert queue.size <= 1000
    assert sum(value.sender == HONEST for value in queue.take(1000)) == 40


@settings(max_examples=cases(20))
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60)), max_size=60))
def test_number_and_bytes_are_counted_and_bounded(arrivals: list[tuple[int, int]]) -> None:
    queue = FairQueue(most=20, most_bytes=300)
    for sender, size in arrivals:
        queue.add(bytes(size), NodeID(bytes([sender]) * 20))
        assert len(queue) <= 20
        assert queue.size <= 300
    count, size = len(queue), queue.size
    found = [value for _ in range(60) for value in queue.take(1)]
    assert (len(found), sum(len(item.raw) for item in found)) == (count, size)


def test_flood_does_not_scan_all_senders_per_transaction() -> None:
    class Counting(FairQueue):
        looks = 0

        def _greed(self, sender: NodeID) -> float:
            self.looks += 1
            return super()._greed(sender)

    queue = Counting(most=300)
    for at in range(300):
        queue.add(b"honest", NodeID(at.to_bytes(20, "little")))
    for at in range(3000):
        queue.add(b"flood %d" % at, FLOODER)
    assert len(queue) == 300
    assert queue.looks < 10 * 3300


@settings(max_examples=cases(30))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=80))
def test_greediest_sender_has_most_transactions(arrivals: list[tuple[int, int]]) -> None:
    queue = FairQueue(most=10, most_bytes=10_000)
    for sender, size in arrivals:
        queue.add(bytes(size), NodeID(bytes([sender]) * 20))
        if size == 9:
            queue.take(3)
        if len(queue):
            most = max(len(own) for own in queue._waiting.values())
            assert len(queue._waiting[queue._find_greediest()]) == most
