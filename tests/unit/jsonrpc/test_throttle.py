"""Token buckets: requests that pass, delays, and the eviction of clients."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as RedisAway

from jsonrpc.limits.redis_throttle import RedisThrottle
from jsonrpc.limits.throttle import Bucket, LocalThrottle, Rate

FORTY = Rate(40, 40)


def test_a_bucket_refills_smoothly(clock) -> None:
    throttle = LocalThrottle(FORTY, clock)
    assert [throttle.take_now("a", 1) for _ in range(40)] == [0.0] * 40
    assert throttle.take_now("a", 1) == pytest.approx(0.025)
    clock.now += 0.0251
    assert throttle.take_now("a", 1) == 0.0
    assert throttle.take_now("a", 1) > 0


def test_clients_do_not_share_a_bucket(clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock)
    assert throttle.take_now("a", 1) == 0.0
    assert throttle.take_now("b", 1) == 0.0
    assert throttle.take_now("a", 1) == pytest.approx(1.0)


async def test_a_closed_limit_keeps_no_clients(clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock)
    await throttle.take("a", 1)
    await throttle.close()
    assert len(throttle) == 0


def test_a_refused_request_takes_nothing(clock) -> None:
    throttle = LocalThrottle(FORTY, clock)
    throttle.take_now("a", 35)
    assert throttle.take_now("a", 10) == pytest.approx(5 / 40)
    assert throttle.take_now("a", 5) == 0.0


def test_a_batch_longer_than_the_bucket_passes_when_it_is_full_and_leaves_a_debt(clock) -> None:
    throttle = LocalThrottle(FORTY, clock)
    assert throttle.take_now("a", 100) == 0.0
    assert throttle.take_now("a", 1) == pytest.approx(61 / 40)
    clock.now += 2.4
    assert throttle.take_now("a", 100) == pytest.approx(0.1)
    clock.now += 0.2
    assert throttle.take_now("a", 100) == 0.0


def test_only_recent_clients_are_tracked(clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock, capacity=2)
    for key in ("a", "b", "a", "c"):
        throttle.take_now(key, 1)
    assert len(throttle) == 2
    assert throttle.take_now("a", 1) > 0
    assert throttle.take_now("b", 1) == 0.0


async def test_waiting_for_the_local_bucket_is_the_same_as_asking(clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock)
    assert await throttle.take("a", 1) == 0.0
    assert await throttle.take("a", 1) == pytest.approx(1.0)


costs = st.lists(st.tuples(st.floats(0, 5), st.integers(1, 60)), max_size=60)


@given(steps=costs)
def test_admitted_work_equals_the_refill_plus_one_debt(steps) -> None:
    bucket, now, passed = Bucket(FORTY.burst, 0.0), 0.0, 0
    for pause, cost in steps:
        now += pause
        bucket, wait = FORTY.take(bucket, now, cost)
        passed += 0 if wait else cost
        assert bucket.tokens <= FORTY.burst
        assert wait >= 0
    assert passed <= FORTY.burst + FORTY.per_second * now + 60 + 1e-6


@given(steps=costs, cost=st.integers(1, 1000))
def test_client_that_waits_for_the_given_time_is_admitted(steps, cost: int) -> None:
    bucket, now = Bucket(FORTY.burst, 0.0), 0.0
    for pause, earlier in steps:
        now += pause
        bucket, _ = FORTY.take(bucket, now, earlier)
    bucket, wait = FORTY.take(bucket, now, cost)
    if wait:
        _, wait = FORTY.take(bucket, now + wait + 1e-6, cost)
    assert wait == 0.0


def test_clock_going_back_adds_no_tokens(clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock)
    throttle.take_now("a", 1)
    clock.now -= 100
    assert throttle.take_now("a", 1) == pytest.approx(1.0)


class FakeRedis:
    """The part of a Redis client that the throttle uses."""

    def __init__(self) -> None:
        self.away = False
        self.asked = []

    def register_script(self, _text: str):
        async def script(keys, args) -> bytes:
            self.asked.append((keys, args))
            if self.away:
                raise RedisAway("refused")
            return b"0.250000000"

        return script


async def test_redis_script_gets_key_and_rate(clock) -> None:
    redis = FakeRedis()
    throttle = RedisThrottle(redis, FORTY, clock=clock)
    assert throttle.take_now("a", 3) is None
    assert await throttle.take("a", 3) == 0.25
    assert redis.asked == [(["throttle:a"], [40, 40, 3])]


async def test_redis_outage_falls_back_to_the_process_and_is_logged_once(clock, caplog) -> None:
    redis = FakeRedis()
    redis.away = True
    throttle = RedisThrottle(redis, Rate(1, 1), clock=clock)
    with caplog.at_level(logging.INFO, logger="jsonrpc"):
        assert await throttle.take("a", 1) == 0.0
        assert await throttle.take("a", 1) == pytest.approx(1.0)
        assert throttle.take_now("b", 1) == 0.0
        clock.now += 6
        assert await throttle.take("a", 1) == 0.0
        assert len(redis.asked) == 2
        redis.away = False
        clock.now += 6
        assert await throttle.take("a", 1) == 0.25
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
