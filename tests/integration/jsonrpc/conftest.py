"""The small interface that these tests ask, and its WebSocket door."""

from collections.abc import Iterator

import pytest

from jsonrpc.dispatch import Dispatcher, Limits
from jsonrpc.gate import GateConfig
from jsonrpc.gathering import Gatherers
from jsonrpc.http import Endpoint
from jsonrpc.hub import Hub, HubLimits
from jsonrpc.websocket import JsonRpcConsumer
from jsonrpc.workers import Workers
from tests.builders.interface import calls, clock, dispatcher, registry, would_block
from tests.integration.jsonrpc.guarded import looked, made, raw, serve

__all__ = [
    "application",
    "calls",
    "clock",
    "dispatcher",
    "hub",
    "looked",
    "made",
    "raw",
    "registry",
    "serve",
    "workers",
    "would_block",
]


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(threads=2, queue=2)
    yield workers
    workers.close()


@pytest.fixture
def hub() -> Hub:
    return Hub(HubLimits(connections=3))


@pytest.fixture
def application(registry, hub, workers):
    def make(config=None, throttle=None, limits=None, budget=None):
        dispatcher = Dispatcher(registry, limits=budget or Limits())
        endpoint = Endpoint(("/ws",), dispatcher, config or GateConfig(), throttle)
        return JsonRpcConsumer.as_asgi(
            endpoint=endpoint, hub=hub, workers=workers, gatherers=Gatherers(workers), limits=limits
        )

    return make
