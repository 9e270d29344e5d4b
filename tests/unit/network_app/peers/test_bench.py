"""A peer that often fails to answer is not queried for a while, and starts again without failures."""

from network_app.config import NetworkConfig
from network_app.peers.bench import CREDIT, Bench
from primitives.ids import NodeID

CONFIG = NetworkConfig(network_id=1)
PEER, OTHER = NodeID(b"\1" * 20), NodeID(b"\2" * 20)


def benched_peer() -> Bench:
    bench = Bench(CONFIG)
    for _ in range(5):
        bench.failed(PEER, "P", 0.0)
    return bench


def test_peer_without_requests_is_not_benched() -> None:
    assert not Bench(CONFIG).is_benched(PEER, "P", 0.0)


def test_as_many_failures_as_the_credit_are_forgiven() -> None:
    bench = Bench(CONFIG)

    for _ in range(int(CREDIT)):
        bench.failed(PEER, "P", 0.0)
        assert not bench.is_benched(PEER, "P", 0.0)
    bench.failed(PEER, "P", 0.0)

    assert bench.is_benched(PEER, "P", 0.0)


def test_each_chain_has_its_own_bench() -> None:
    bench = benched_peer()

    assert not bench.is_benched(PEER, "C", 0.0)
    assert not bench.is_benched(OTHER, "P", 0.0)
    for _ in range(5):
        bench.failed(PEER, "C", 0.0)
    assert bench.benched(0.0) == {PEER: ["C", "P"]}


def test_answers_end_it() -> None:
    bench = benched_peer()

    answers = 0
    while bench.is_benched(PEER, "P", 1.0):
        bench.answered(PEER, "P", 1.0)
        answers += 1

    assert 10 <= answers <= 20  # from more than one half to less than one fifth
    assert bench.benched(1.0) == {}


def test_bench_expires_with_its_history() -> None:
    bench = benched_peer()

    assert bench.is_benched(PEER, "P", 299.9)
    assert not bench.is_benched(PEER, "P", 300.0)
    assert len(bench) == 0
    bench.failed(PEER, "P", 300.0)
    assert not bench.is_benched(PEER, "P", 300.0)


def test_two_of_five_requests_may_fail() -> None:
    bench = Bench(CONFIG)

    for second in range(1000):
        (bench.failed if second % 5 < 2 else bench.answered)(PEER, "P", float(second))
        assert not bench.is_benched(PEER, "P", float(second))


def test_old_failures_weigh_less_than_new_answers() -> None:
    bench = Bench(CONFIG)
    for _ in range(4):
        bench.failed(PEER, "P", 0.0)
    bench.answered(PEER, "P", 600.0)
    bench.failed(PEER, "P", 600.0)

    assert not bench.is_benched(PEER, "P", 600.0)


def test_bench_capacity_is_limited() -> None:
    bench = Bench(CONFIG, capacity=10)

    for number in range(100):
        bench.failed(NodeID(bytes([number]) * 20), "P", 0.0)

    assert len(bench) == 10


def test_removed_peer_is_unbenched_on_all_chains() -> None:
    bench = benched_peer()
    for _ in range(5):
        bench.failed(PEER, "C", 0.0)
        bench.failed(OTHER, "C", 0.0)

    bench.forget(PEER)

    assert bench.benched(0.0) == {OTHER: ["C"]}
    bench.failed(PEER, "P", 0.0)
    assert not bench.is_benched(PEER, "P", 0.0)
