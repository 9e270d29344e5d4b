"""Tasks queued for Celery's workers, as the admin's index page shows them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from celery.worker import state
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from chaindb import redis_cache
from chaindb.servers import WatchedServer
from nodeproject.admin import first_page
from nodeproject.admin.first_page import measure
from nodeproject.celery import app
from tests.builders.node_settings import updated
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.django_db


def _cards() -> dict[str, tuple[str, str]]:
    return {card.title: (str(card.value), str(card.note)) for card in first_page.overview().cards}


@pytest.fixture
def embedded(settings: Any) -> Iterator[None]:
    """Keep messages in this process's memory, without a worker."""
    settings.NODE = updated(settings.NODE, profile="embedded")
    with app.connection_for_write(
        "memory://localhost", transport="nodeproject.processes.broker:Transport"
    ) as c:
        for queue, count in (("chain", 3), ("default", 0)):
            bound = c.SimpleQueue(queue)
            bound.clear()
            for number in range(count):
                bound.put(number)
        yield
        c.SimpleQueue("chain").clear()


@pytest.mark.usefixtures("embedded")
def test_embedded_profile_shows_queues_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    done, running = state.total_count.copy(), object()
    monkeypatch.setattr(state, "total_count", done + type(done)({"a": 5, "b": 2}))
    monkeypatch.setattr(state, "active_requests", {running})

    found = measure()

    assert found.waiting == {"chain": 3, "default": 0}
    assert found.running == 1
    assert found.done == sum(done.values()) + 6
    cards = _cards()
    assert cards["Queue “chain”"][0] == "3 waiting"
    assert cards["Worker"][0] == "1 running"
    assert "Beat" not in cards


@pytest.fixture
def production(settings: Any) -> Iterator[RedisServer]:
    server = RedisServer()
    settings.NODE = updated(settings.NODE, profile="production", redis_url=server.url)
    redis_cache.server.cache_clear()
    yield server
    server.stop()
    redis_cache.server.cache_clear()


def test_production_profile_shows_queues_in_redis_and_the_beat(production: RedisServer) -> None:
    assert _cards()["Beat"] == (
        '<span class="nd-badge nd-bad">silent</span>',
        "no task sent yet",
    )
    schedule = IntervalSchedule.objects.create(every=1, period="seconds")
    task = PeriodicTask.objects.create(
        name="x", interval=schedule, last_run_at=datetime.now(UTC) - timedelta(minutes=3)
    )
    with app.connection_for_write(production.url, transport="redis") as connection:
        for number in range(4):
            connection.SimpleQueue("default").put(number)

    cards = _cards()

    assert cards["Queue “chain”"][0] == "0 waiting"
    assert cards["Queue “default”"][0] == "4 waiting"
    assert cards["Workers"][0] == '<span class="nd-muted">other process</span>'
    assert "silent" not in cards["Beat"][0]  # beat may just not have recorded its last tasks
    assert cards["Beat"][1] == "sent 3 min ago; recorded every 3 min"

    task.last_run_at = datetime.now(UTC) - timedelta(minutes=7)
    task.save()
    shown, words = _cards()["Beat"]
    assert '<span class="nd-badge nd-bad">silent</span>' in shown
    assert words == "sent 7 min ago; recorded every 3 min"


def test_unreachable_redis_is_reported(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The thread that waits for its return would run until the process ends.
    monkeypatch.setattr(WatchedServer, "_watch", lambda _server: None)
    settings.NODE = updated(settings.NODE, profile="production", redis_url="redis://127.0.0.1:1/0")
    redis_cache.server.cache_clear()
    told = _cards()["Queues"]
    assert "unknown" in told[0]
    assert told[1].startswith("Redis at 127.0.0.1:1 does not answer")
    redis_cache.server.cache_clear()


def test_redis_error_is_reported(production: RedisServer) -> None:
    with redis.Redis.from_url(production.url) as client:
        client.set("chain", "no list")
    told = _cards()["Queues"]
    assert "unknown" in told[0]
    assert "WRONGTYPE" in told[1]


@pytest.mark.usefixtures("production")
@pytest.mark.parametrize("lost", [redis.TimeoutError(), redis.ConnectionError("closed")])
def test_lost_redis_connection_is_reported(
    monkeypatch: pytest.MonkeyPatch, lost: redis.RedisError
) -> None:
    def lose(*_: Any, **__: Any) -> None:
        raise lost

    monkeypatch.setattr(redis.client.Pipeline, "execute", lose)
    told = _cards()["Queues"]
    assert "unknown" in told[0]
    assert told[1] == f"Redis did not answer: {str(lost) or 'TimeoutError'}"
