"""A bounded cache keeps its limits, evicts in the order that its methods promise, and loses nothing to threads."""

import sys
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives.bounded_cache import BoundedCache

THREADS = 4
EACH = 2_000


def weighed(most_weight: int, most: int = sys.maxsize) -> BoundedCache[str, bytes]:
    return BoundedCache(most, most_weight=most_weight, weigh=lambda _, value: len(value))


def test_without_moves_the_first_in_is_the_first_out() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    assert cache.peek("a") == 3
    cache.put("c", 4)
    assert list(cache.items()) == [("b", 2), ("c", 4)]


@pytest.mark.parametrize(
    "use",
    [
        lambda cache: cache.get("a"),
        lambda cache: cache.touch("a"),
        lambda cache: cache.put_newest("a", 1),
    ],
    ids=["get", "touch", "put_newest"],
)
def test_recently_used_entry_is_evicted_last(use: Callable[[BoundedCache[str, int]], None]) -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    use(cache)
    cache.put("c", 3)
    assert list(cache) == ["a", "c"]
    assert list(reversed(cache)) == ["c", "a"]


def test_missing_key_gives_none_or_the_default() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.touch("a")
    assert cache.get("a") is cache.peek("a") is cache.pop("a") is None
    assert cache.peek("a", 5) == 5
    assert "a" not in cache


def test_none_can_be_cached() -> None:
    cache: BoundedCache[str, None] = BoundedCache(2)
    cache.put("a", None)
    cache.put("b", None)
    assert cache.get("a") is None
    cache.put("c", None)
    assert list(cache) == ["a", "c"]


def test_a_capacity_of_zero_stores_nothing() -> None:
    cache: BoundedCache[str, int] = BoundedCache(0)
    cache.put("a", 1)
    cache.put_newest("a", 1)
    assert len(cache) == 0


def test_heavy_entry_evicts_as_many_old_entries_as_needed() -> None:
    cache = weighed(10)
    for key in "abcd":
        cache.put(key, b"two")
    assert (list(cache), cache.weight) == (["b", "c", "d"], 9)
    cache.put("e", b"seven..")
    assert (list(cache), cache.weight) == (["d", "e"], 10)


def test_an_entry_that_is_too_heavy_leaves_the_cache_empty() -> None:
    cache = weighed(3)
    cache.put("a", b"1")
    cache.put_newest("b", b"1234")
    assert (len(cache), cache.weight) == (0, 0)


def test_another_value_changes_the_weight() -> None:
    cache = weighed(10)
    cache.put("a", b"123")
    cache.put("a", b"12345")
    assert cache.weight == 5
    assert cache.pop("a") == b"12345"
    assert cache.weight == 0


def test_a_cleared_cache_has_no_weight() -> None:
    cache = weighed(10)
    cache.put("a", b"123")
    cache.clear()
    assert (len(cache), cache.weight) == (0, 0)


_KEYS = st.sampled_from("abcdef")
_STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "put_newest"]), _KEYS, st.binary(max_size=6)),
    st.tuples(st.sampled_from(["get", "touch", "peek", "pop"]), _KEYS),
    st.just(("clear",)),
)


class Model:
    """The same cache as a list, oldest first."""

    def __init__(self, most: int, most_weight: int) -> None:
        self.most = most
        self.most_weight = most_weight
        self.entries: list[tuple[str, bytes]] = []

    def weight(self) -> int:
        return sum(len(value) for _, value in self.entries)

    def place(self, key: str) -> int | None:
        return next((at for at, (other, _) in enumerate(self.entries) if other == key), None)

    def peek(self, key: str) -> bytes | None:
        return dict(self.entries).get(key)

    def get(self, key: str) -> bytes | None:
        value = self.pop(key)
        if value is not None:
            self.entries.append((key, value))
        return value

    def touch(self, key: str) -> None:
        self.get(key)

    def pop(self, key: str) -> bytes | None:
        place = self.place(key)
        return None if place is None else self.entries.pop(place)[1]

    def put(self, key: str, value: bytes) -> None:
        place = self.place(key)
        if place is None:
            self.entries.append((key, value))
        else:
            self.entries[place] = (key, value)
        self.evict()

    def put_newest(self, key: str, value: bytes) -> None:
        self.pop(key)
        self.entries.append((key, value))
        self.evict()

    def clear(self) -> None:
        self.entries.clear()

    def evict(self) -> None:
        while len(self.entries) > self.most or self.weight() > self.most_weight:
            del self.entries[0]


@given(st.integers(0, 4), st.integers(0, 12), st.lists(_STEPS, max_size=40))
def test_cache_behaves_like_a_list_model(
    most: int, most_weight: int, steps: list[tuple[object, ...]]
) -> None:
    cache, model = weighed(most_weight, most), Model(most, most_weight)
    for name, *arguments in steps:
        assert isinstance(name, str)
        assert getattr(cache, name)(*arguments) == getattr(model, name)(*arguments)
        assert list(cache.items()) == model.entries
        assert cache.weight == model.weight()
        assert len(cache) <= most


def test_threads_keep_the_limits_and_the_weight() -> None:
    cache, before = weighed(40, 8), sys.getswitchinterval()
    failures: list[BaseException] = []

    def use(seed: int) -> None:
        try:
            for number in range(EACH):
                key = str((number * seed) % 13)
                (cache.put, cache.put_newest)[number % 2](key, b"." * (number % 11))
                cache.get(key)
                cache.touch(str(number % 13))
                if number % 5 == 0:
                    cache.pop(key)
                if number % 500 == 0:
                    cache.clear()
        except BaseException as error:  # shown by the assertion below
            failures.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(seed,)) for seed in range(1, THREADS + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert failures == []
    assert len(cache) <= 8
    assert cache.weight == sum(len(value) for _, value in cache.items()) <= 40
