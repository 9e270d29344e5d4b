"""The index of polled filters, in memory and in a real Redis: both behave the same."""

import random
import uuid
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from cchain_app.filter_index import FilterIndex, MemoryIndex, RedisIndex
from tests.servers.redis import RedisServer

OURS, THEIRS = "192.0.2.1", "2001:db8::/64"

Make = Callable[..., FilterIndex]


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    server = RedisServer()
    with Redis.from_url(server.url) as client:
        yield client
    server.stop()


@pytest.fixture(params=["memory", "redis"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return a function that makes an index with a maximum weight and a filter lifetime in seconds."""

    def made(most: int, lifetime: float = 300) -> FilterIndex:
        if request.param == "memory":
            return MemoryIndex(most, lifetime)
        redis = request.getfixturevalue("redis")
        return RedisIndex(redis, most, lifetime, f"{uuid.uuid4()}:")

    return made


def test_nothing_is_evicted_below_the_limit(make: Make) -> None:
    index = make(3)

    assert [index.put(OURS, number, 1) for number in (1, 2, 3, 1)] == [[]] * 4


def test_least_recently_polled_filter_is_evicted(make: Make) -> None:
    index = make(3)
    for number in (1, 2, 3, 1):
        index.put(OURS, number, 1)

    assert index.put(OURS, 4, 1) == [2]
    assert index.put(OURS, 5, 1) == [3]


def test_evicted_filter_belongs_to_the_client_with_most(make: Make) -> None:
    index = make(4)
    index.put(OURS, 1, 1)
    for number in (2, 3, 4):
        index.put(THEIRS, number, 1)

    assert index.put(OURS, 5, 1) == [2]
    assert index.put(THEIRS, 6, 1) == [3]


def test_heavy_filter_evicts_several(make: Make) -> None:
    index = make(10)
    for number in range(10):
        index.put(OURS, number, 1)

    assert index.put(THEIRS, 100, 4) == [0, 1, 2, 3]
    assert index.put(THEIRS, 100, 5) == [4]


def test_removal_frees_weight_and_ignores_unknown_filters(make: Make) -> None:
    index = make(1)
    index.put(OURS, 1, 1)
    index.remove(OURS, 1)
    index.remove(OURS, 1)
    index.remove(THEIRS, 7)

    assert index.put(OURS, 2, 1) == []


def test_unpolled_filter_expires(make: Make) -> None:
    index = make(2, lifetime=0)
    index.put(THEIRS, 1, 2)

    assert index.put(OURS, 2, 2) == []


def test_overweight_filter_is_evicted_itself(make: Make) -> None:
    assert make(5).put(OURS, 2**127, 6) == [2**127]


def test_an_id_may_have_all_its_bits(make: Make) -> None:
    index = make(1)
    index.put(OURS, 2**128 - 1, 1)

    assert index.put(OURS, 1, 1) == [2**128 - 1]


def test_memory_and_redis_indexes_agree(redis: Redis) -> None:
    dice = random.Random(7)
    memory, shared = MemoryIndex(40, 300), RedisIndex(redis, 40, 300, f"{uuid.uuid4()}:")
    for _ in range(1000):
        client, number = dice.choice(["a", "b c", "2001:db8::/64"]), dice.randrange(40)
        if dice.random() < 0.2:
            memory.remove(client, number)
            shared.remove(client, number)
        else:
            weight = dice.randrange(1, 4)
            evicted = memory.put(client, number, weight)
            assert shared.put(client, number, weight) == evicted
