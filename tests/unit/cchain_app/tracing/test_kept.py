"""Cached answers: limited by their bytes, evicted by least recent use."""

import tracemalloc

import msgspec

from cchain_app.tracing.kept import KeptTraces, TraceKey
from primitives.evm import Hash

BLOCK = Hash(b"\xb1" * 32)


def key(index: int, options: str = "") -> TraceKey:
    return TraceKey(BLOCK, index, options)


def test_trace_is_found_by_its_full_key():
    kept = KeptTraces(10_000)
    kept.keep(key(0, "a"), b"one")
    kept.keep(key(0, "b"), b"two")

    assert kept.get(key(0, "a")) == b"one"
    assert kept.get(key(0, "b")) == b"two"
    assert kept.get(key(1, "a")) is None
    assert (kept.asked.hits.read(), kept.asked.misses.read()) == (2, 1)


def test_least_recently_used_trace_is_evicted():
    kept = KeptTraces(10_000)
    for index in range(4):
        kept.keep(key(index), bytes(2_000))
    kept.get(key(0))
    kept.keep(key(4), bytes(2_000))

    assert kept.get(key(0)) is not None
    assert kept.get(key(1)) is None
    assert len(kept) == 4
    assert kept.weight <= 10_000


def test_trace_above_a_share_of_the_cache_is_not_kept():
    kept = KeptTraces(10_000)
    kept.keep(key(0), bytes(2_400))

    assert kept.get(key(0)) is None
    assert kept.weight == 0


def test_cache_of_size_zero_keeps_nothing():
    kept = KeptTraces(0)
    kept.keep(key(0), b"")

    assert len(kept) == 0


def test_replaced_trace_is_weighed_once():
    kept = KeptTraces(10_000)
    kept.keep(key(0), b"one")
    taken = kept.weight
    kept.keep(key(0), b"one")
    assert kept.weight == taken

    kept.keep(key(0), b"another")
    assert (len(kept), kept.get(key(0))) == (1, b"another")
    assert kept.weight == taken + len(b"another") - len(b"one")


def test_an_answer_takes_no_more_than_its_bytes():
    kept = KeptTraces(1_000_000)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for index in range(20):
        kept.keep(key(index), msgspec.json.encode(["x" * 3_000] * 3))
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert held < kept.weight
