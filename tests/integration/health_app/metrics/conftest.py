"""A node with both chains of which everything that monitoring shows has happened once."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.test import Client

from health_app.metrics import SOURCES, exposition, rows
from jsonrpc.hub import Hub
from network_app.models import SyncPhase
from nodeproject import doors, observation
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain, nothing_remembered, pchain

__all__ = ["nothing_remembered", "pchain"]

Page = dict[str, float]
"""Values by name and labels, as they stand on the page."""


class Here:
    """Reads rows in the test's own thread, which alone sees what the test wrote."""

    figures = staticmethod(rows.read)


class Socket:
    """A socket that hears nothing."""

    def push(self, text: str) -> None:
        """Take no notice."""

    def is_gone(self) -> bool:
        """Return that it is there."""
        return False


def parse(text: str) -> Page:
    """Read a page; each line must be one that Prometheus' text form knows."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    matches = [re.fullmatch(r"(\w+(?:\{.*\})?) (\S+)", line) for line in lines]
    assert None not in matches
    return {match[1]: float(match[2]) for match in matches if match is not None}


def names(page: Page) -> set[str]:
    """Return the names of the values on a page."""
    return {line.partition("{")[0] for line in page}


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch, node_settings: Any) -> Iterator[None]:
    """This process as one with a web server that monitoring watches."""
    monkeypatch.setattr(import_module("health_app.metrics.exposition"), "_reader", Here)
    for name in ("workers", "hub", "checks", "caches"):
        monkeypatch.setattr(SOURCES, name, None)
    observation.observe_web(doors.workers())
    observation.observe_work.cache_clear()
    observation.observe_work()
    observation.reporter.cache_clear()
    yield
    observation.reporter.cache_clear()


@pytest.fixture
def busy(observed: None, chain: Chain, pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that has done everything once."""
    for _ in range(2):
        chain.do()
    chain.send(chain.make())
    pchain.issue(pchain.make())
    for endpoint in doors.endpoints():
        name = next(iter(endpoint.dispatcher.registry)).name.encode()
        endpoint.dispatcher.answer(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % name)
        endpoint.dispatcher.answer(b'{"jsonrpc":"2.0","id":1,"method":"no_such"}')
    monkeypatch.setattr(SOURCES, "http_connections", lambda: 1)
    monkeypatch.setattr(SOURCES, "hub", Hub())
    assert SOURCES.hub is not None
    socket = Socket()
    SOURCES.hub.connect(socket)
    SOURCES.hub.activate(SOURCES.hub.open(socket, "newHeads"))
    SOURCES.blocks.observe("P", 0.1)
    SOURCES.tasks.durations.observe("cchain_app.tick", 0.1)
    SOURCES.tasks.last_ended["cchain_app.tick"] = 1.0
    SOURCES.statements.observe("select", 0.1, "OperationalError")
    SOURCES.connections.observe("opened", 0.0)
    network_rows.report(connected=1, known=3, messages_sent=5, bytes_received=700)
    network_rows.peer(NodeID(bytes(20)), benched=["C"])
    network_rows.sync("P")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING, target_height=40, seconds_left=6.0)
    for path in ("/ext/openapi.json", "/ext/health/liveness"):
        Client(headers={"host": "localhost"}).get(path)


@pytest.fixture
def text(busy: None) -> str:
    """The page as Prometheus gets it."""
    return exposition()[1].decode()


@pytest.fixture
def page(text: str) -> Page:
    """The page by name and labels."""
    return parse(text)
