"""The small API that these tests call, and its WebSocket endpoint."""

from collections.abc import Iterator

import pytest

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.replies import Endpoint
from jsonrpc.websocket.consumer import JsonRpcConsumer
from jsonrpc.websocket.hub import Hub, HubLimits
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
        dispatcher = Dispatcher(registry, limits=budget or DispatchLimits())
        endpoint = Endpoint(("/ws",), dispatcher, config or GateConfig(), throttle)
        return JsonRpcConsumer.as_asgi(
            endpoint=endpoint, hub=hub, answering=Answering(workers), limits=limits
        )

    return make
