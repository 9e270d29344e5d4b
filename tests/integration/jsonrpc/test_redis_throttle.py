"""The shared token bucket in a real Redis: the script behaves like `throttle.Rate`."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from jsonrpc.limits.redis_throttle import RedisThrottle
from jsonrpc.limits.throttle import Rate
from tests.integration.jsonrpc.messages import until
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

KEY = "throttle:a"


@pytest.fixture
def redis_socket(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "redis.sock")
    arguments = ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""]
    server = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    try:
        yield path
    finally:
        server.terminate()
        server.wait(timeout=SECONDS)


async def connect(path: str) -> Redis:
    redis = Redis(unix_socket_path=path, socket_timeout=SECONDS)
    await until(Path(path).exists)
    await redis.ping()
    return redis


async def test_two_processes_share_a_bucket(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    first, other = RedisThrottle(redis, Rate(0.001, 4)), RedisThrottle(redis, Rate(0.001, 4))
    assert await first.take("a", 3) == 0.0
    assert await other.take("a", 1) == 0.0
    assert await first.take("a", 1) == pytest.approx(1_000, abs=100)
    assert await other.take("b", 1) == 0.0
    (connection,) = redis.connection_pool._available_connections
    assert connection.is_connected
    await first.close()
    assert not connection.is_connected


async def test_long_batch_leaves_a_debt_that_refills(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    # A rate that refills nothing during the test; time passes by moving the bucket's timestamp back.
    throttle = RedisThrottle(redis, Rate(0.001, 10))
    assert await throttle.take("a", 30) == 0.0
    wait = await throttle.take("a", 1)
    assert wait == pytest.approx(21_000, abs=100)
    await redis.hincrbyfloat(KEY, "at", 1_000 - wait)
    assert await throttle.take("a", 1) == pytest.approx(1_000, abs=100)
    await redis.hincrbyfloat(KEY, "at", -1_001)
    assert await throttle.take("a", 1) == 0.0
    assert await throttle.take("a", 30) > 0
    await redis.aclose()


async def test_full_bucket_is_deleted(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    assert await RedisThrottle(redis, Rate(0.001, 5)).take("a", 2) == 0.0
    assert await redis.ttl(KEY) == pytest.approx(2_000, abs=100)
    await redis.delete(KEY)
    assert await RedisThrottle(redis, Rate(100, 5)).take("a", 2) == 0.0
    async with asyncio.timeout(SECONDS):
        while await redis.exists(KEY):
            await asyncio.sleep(0.01)
    await redis.aclose()
