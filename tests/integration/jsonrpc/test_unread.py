"""The cost of unread notifications: one limit for all sockets together, and the slowest is disconnected."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from jsonrpc.limits.memory import MemoryLimits
from tests.integration.jsonrpc.guarded import ANSWER, CALL, Served, open_socket, until
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

MOST = 4_000_000
PIECE = 100_000
NEWS = b'"%b"' % (b"a" * PIECE)


@pytest.fixture
def served(serve) -> Served:
    return serve(memory=MemoryLimits(maximum=MOST, of_client=MOST))


@contextmanager
def subscriber(served: Served, times: int = 1) -> Iterator[ClientConnection]:
    """A client that reads only on demand, and has subscribed the given number of times."""
    options = {"compression": None, "ping_interval": None, "max_queue": 1, "close_timeout": 0.1}
    with connect(served.url, open_timeout=SECONDS, **options) as ws:
        for _ in range(times):
            ws.send(CALL.replace(b"number", b"subscribe").decode())
            assert json.loads(ws.recv(timeout=SECONDS))["id"] == 7
        yield ws


def fill(served: Served) -> int:
    """Publish until a socket is closed; return the largest number of bytes counted."""
    most = 0
    for _ in range(1_000):
        served.publish(NEWS)
        most = max(most, served.memory.unread.held)
        if any(subscription.sink.is_gone() for subscription in served.hub.subscriptions("news")):
            return most
    raise AssertionError("nobody was closed")


def test_slowest_socket_is_closed_with_a_reason_at_the_total_limit(served) -> None:
    with ExitStack() as stay:
        slowest = stay.enter_context(subscriber(served, times=3))
        others = [stay.enter_context(subscriber(served)) for _ in range(2)]
        assert MOST // 2 < fill(served) <= MOST
        with pytest.raises(ConnectionClosed):
            list(slowest)
        assert slowest.close_code == 1013
        assert slowest.close_reason == "too slow: messages wait for too long"
        until(lambda: len(served.hub.subscriptions("news")) == 2)
        for ws in others:
            assert len(ws.recv(timeout=SECONDS)) > PIECE


def test_write_above_the_limit_closes_only_its_socket(served) -> None:
    with subscriber(served) as slow, open_socket(served) as other:
        (subscription,) = served.hub.subscriptions("news")
        served.publish(b'"%b"' % (b"a" * 40_000_000))
        assert subscription.sink.is_gone()
        until(lambda: not served.hub.subscriptions("news"))
        with pytest.raises(ConnectionClosed):
            slow.recv(timeout=SECONDS)
        assert served.memory.unread.held == 0
        other.send(CALL.decode())
        assert other.recv(timeout=SECONDS) == ANSWER.decode()
