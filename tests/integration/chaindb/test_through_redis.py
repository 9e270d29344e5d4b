"""Data that the processes of the production profile share through a real Redis."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis as redis_client

from chaindb import building as module
from chaindb import pubsub_layer
from chaindb.building import BlocksInProgress
from chaindb.chains import C_CHAIN
from chaindb.events import ChainEvents, Message
from chaindb.pubsub_layer import PubSubLayer
from tests.builders.node_settings import updated
from tests.integration.patience import SECONDS, groups_joined
from tests.servers.redis import RedisServer

SENDER = """
import sys
import threading
import django
from django.conf import settings
from types import SimpleNamespace
settings.configure(
    NODE=SimpleNamespace(profile="production", redis_url=sys.argv[1]),
    CHANNEL_LAYERS={"default": {
        "BACKEND": "chaindb.pubsub_layer.PubSubLayer", "CONFIG": {"url": sys.argv[1]}}},
    CACHES={"default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": sys.argv[1]}},
)
django.setup()
from chaindb.building import BlocksInProgress
from chaindb.events import ChainEvents
shared, share = threading.Event(), BlocksInProgress._share
BlocksInProgress._share = lambda *block: (share(*block), shared.set())
with BlocksInProgress("P", "production").count(41):
    shared.wait()
    ChainEvents("production").send("C", {"type": "c", "number": 7})
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture
def production(redis: RedisServer, settings: Any) -> str:
    settings.NODE = updated(settings.NODE, profile="production")
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "chaindb.pubsub_layer.PubSubLayer",
            "CONFIG": {"url": redis.url},
        }
    }
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": redis.url,
        }
    }
    return redis.url


async def test_process_receives_events_of_itself_and_others(production: str) -> None:
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    with pytest.MonkeyPatch.context() as patch:
        joined = groups_joined(patch)
        unbind = ChainEvents("production").bind(
            asyncio.get_running_loop(), inbox.put_nowait, [C_CHAIN]
        )
        await asyncio.wait_for(joined.wait(), SECONDS)
    of_p = BlocksInProgress("P", "production")
    other = await asyncio.to_thread(_start, production)
    try:
        assert await asyncio.wait_for(inbox.get(), SECONDS) == {
            "type": "c",
            "number": 7,
            "chain": "C",
        }
        assert await asyncio.to_thread(_heights, of_p) == [41]
        assert await asyncio.to_thread(BlocksInProgress("C", "production").outstanding) == []
    finally:
        await asyncio.to_thread(other.communicate, b"\n")
        unbind()
    assert await asyncio.to_thread(of_p.outstanding) == []


async def test_nodes_in_separate_redis_databases_receive_no_events_of_each_other(
    redis: RedisServer,
) -> None:
    base = redis.url.rpartition("/")[0]
    first, second = PubSubLayer(f"{base}/1"), PubSubLayer(f"{base}/2")
    channel = await first.new_channel()
    await first.group_add("c", channel)
    await first.group_add("p", channel)
    await second.group_send("c", {"type": "of another"})
    await first.group_send("c", {"type": "c", "hash": b"\xff"})
    async with asyncio.timeout(SECONDS):
        assert await first.receive(channel) == {"type": "c", "hash": b"\xff"}

    await first.group_discard("c", channel)
    await first.group_send("c", {"type": "c"})
    await first.group_send("p", {"type": "p"})
    async with asyncio.timeout(SECONDS):
        assert await first.receive(channel) == {"type": "p"}
    await first.group_discard("p", channel)


async def test_receiver_is_notified_of_a_lost_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    server = RedisServer()
    layer = PubSubLayer(server.url)
    channel, silent = await layer.new_channel(), await layer.new_channel()
    await layer.group_add("c", channel)
    monkeypatch.setattr(pubsub_layer, "SILENCE", 0.1)
    await layer.group_add("c", silent)
    waiting = asyncio.create_task(layer.receive(channel))
    await layer.group_send("c", {"type": "c"})
    async with asyncio.timeout(SECONDS):
        assert await waiting == {"type": "c"}
        assert await layer.receive(silent) == {"type": "c"}
        server.freeze()
        with pytest.raises(redis_client.TimeoutError, match=r"no answer within 0\.1s"):
            await layer.receive(silent)
        server.bring_back()
        server.stop()
        with pytest.raises(redis_client.ConnectionError):
            await layer.receive(channel)
        late = await layer.new_channel()

        async def listen() -> None:
            await layer.group_add("c", late)
            await layer.receive(late)

        with pytest.raises(redis_client.ConnectionError):
            await listen()
    # Leaving a group works without Redis, and leaves no channel behind.
    for listener in (channel, silent, late):
        await layer.group_discard("c", listener)
        await layer.group_discard("p", listener)
    assert layer._channels == {}


def _start(url: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", SENDER, url], stdin=subprocess.PIPE)


def test_blocks_in_progress_of_a_killed_process_expire(
    production: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_forget", lambda key: None)  # as if the process was killed
    building, other = BlocksInProgress("C", "production"), BlocksInProgress("C", "production")
    shared, share = threading.Semaphore(0), BlocksInProgress._share

    def share_and_tell(*block: Any) -> None:
        share(*block)
        shared.release()

    monkeypatch.setattr(BlocksInProgress, "_share", share_and_tell)
    with building.count(5):
        assert shared.acquire(timeout=SECONDS)
    assert _heights(other) == [5]
    # The next entry of this thread replaces that one; a short lifetime is enough from here.
    monkeypatch.setattr(module, "LIFETIME", 1)
    with redis_client.Redis.from_url(production) as asked, asked.pubsub() as listener:
        asked.config_set("notify-keyspace-events", "Ex")
        listener.psubscribe("__keyevent@*__:expired")
        assert listener.get_message(timeout=SECONDS)["type"] == "psubscribe"
        with building.count(6):
            assert shared.acquire(timeout=SECONDS)
        assert listener.get_message(timeout=SECONDS)["type"] == "pmessage"
    assert _heights(other) == []


def _heights(building: BlocksInProgress) -> list[int]:
    return [height for height, _ in building.outstanding()]
