"""The shared bucket against a real Redis: the script does what `throttle.Rate` does."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from jsonrpc.redis_throttle import RedisThrottle
from jsonrpc.throttle import Rate


@pytest.fixture
def redis_socket(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "redis.sock")
    arguments = ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""]
    server = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    try:
        yield path
    finally:
        server.terminate()
        server.wait(timeout=10)


async def connect(path: str) -> Redis:
    redis = Redis(unix_socket_path=path)
    for _ in range(200):
        if Path(path).exists():
            break
        await asyncio.sleep(0.02)
    await redis.ping()
    return redis


async def test_two_processes_share_a_bucket(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    one, other = RedisThrottle(redis, Rate(0.1, 4)), RedisThrottle(redis, Rate(0.1, 4))
    assert await one.take("a", 3) == 0.0
    assert await other.take("a", 1) == 0.0
    assert await one.take("a", 1) == pytest.approx(10, abs=1)
    assert await other.take("b", 1) == 0.0
    await redis.aclose()


async def test_a_long_batch_leaves_a_debt_and_waiting_pays_it(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    throttle = RedisThrottle(redis, Rate(100, 10))
    assert await throttle.take("a", 30) == 0.0
    wait = await throttle.take("a", 1)
    assert wait == pytest.approx(0.21, abs=0.05)
    await asyncio.sleep(wait + 0.01)
    assert await throttle.take("a", 1) == 0.0
    assert await throttle.take("a", 30) > 0
    await redis.aclose()


async def test_a_bucket_that_is_full_again_is_forgotten(redis_socket: str) -> None:
    redis = await connect(redis_socket)
    assert await RedisThrottle(redis, Rate(100, 5)).take("a", 2) == 0.0
    assert await redis.exists("throttle:a")
    await asyncio.sleep(0.1)
    assert not await redis.exists("throttle:a")
    await redis.aclose()
