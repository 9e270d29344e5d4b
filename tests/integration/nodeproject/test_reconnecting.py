"""However long the broker is down, reconnection attempts stay frequent."""

from collections.abc import Iterator

import pytest
from kombu.utils import functional

from nodeproject.celery import app
from tests.integration.waking import by_postgresql
from tests.servers.redis import RedisServer

pytestmark = by_postgresql

ATTEMPTS = 40
"""Kombu's own waits would reach their maximum after fifteen."""
LONGEST = 2.0
"""In seconds: together with the time to connect, less than the 3 s within which service must be restored."""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """A server for this module alone, which is killed."""
    server = RedisServer()
    yield server
    server.stop()


def test_the_waits_between_attempts_do_not_grow(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def note(_: Exception, wait: float) -> None:
        waits.append(wait)
        if len(waits) == ATTEMPTS:
            redis.bring_back()

    redis.kill_process()
    monkeypatch.setattr(functional, "sleep", lambda _: None)  # only the requested lengths matter
    with app.connection_for_read(redis.url) as connection:
        connection.ensure_connection(note, None)  # as the worker and beat do
        assert connection.connected

    connect = app.conf.broker_transport_options["socket_connect_timeout"]
    assert len(waits) >= ATTEMPTS
    assert min(waits) > 0
    assert max(waits) + connect <= LONGEST
