"""A node with both chains on which every event that the metrics count has happened once."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import Client

from cchain_app.services.calls import index_calls
from explorer_app.services.tokens import index_tokens
from health_app.metrics import exposition
from health_app.metrics.exposition import RowCounts
from health_app.metrics.listeners import TaskListener
from jsonrpc.websocket.hub import Hub
from network_app.models import SyncPhase
from network_app.store import consensus
from nodeproject.apps import this_node
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.builders.consensus_report import REPORT
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain, nothing_remembered, pchain

__all__ = ["nothing_remembered", "pchain"]

TICK = SimpleNamespace(name="cchain_app.tick")
"""A Celery task."""

Page = dict[str, float]
"""Values by name and labels, in the notation of the page."""


def pytest_collection_finish() -> None:
    """Register as a web server process before any test has Django create its middleware, which counts."""
    this_node().processes.register("web")


class Here(RowCounts):
    """Reads rows in the test's own thread, because only that thread sees the rows the test wrote."""

    metrics = RowCounts.read


class Socket:
    """A socket that ignores all messages."""

    def push(self, text: bytes) -> None:
        """Ignore the message."""

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        """Ignore the messages."""

    def is_gone(self) -> bool:
        """Return that the socket is open."""
        return False

    async def close(self, code: int, reason: str) -> None:
        """Close nothing."""


def scrape() -> Page:
    """Return the values of the page by name and labels."""
    return parse(this_node().observation.page.text()[1].decode())


def parse(text: str) -> Page:
    """Parse a page; each line must be valid in Prometheus' text format."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    matches = [re.fullmatch(r"(\w+(?:\{.*\})?) (\S+)", line) for line in lines]
    assert None not in matches
    return {match[1]: float(match[2]) for match in matches if match is not None}


def names(page: Page) -> set[str]:
    """Return the names of the values on a page."""
    return {line.partition("{")[0] for line in page}


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch, node_settings: Any) -> None:
    """Observe this process as a web server's; tests that need chains must request them earlier."""
    own = this_node().observation.metrics
    for name in ("workers", "hubs", "http_connections", "caches"):
        monkeypatch.setattr(own, name, getattr(own, name))
    node = this_node()
    page = exposition.MetricsCollector(
        node.processes,
        Here(node.observation.parts()),
        node.observation.check_results,
        node.evm_chain,
    )
    monkeypatch.setattr(node.observation, "page", page)
    node.observation.observe_web(node.endpoints.workers)


@pytest.fixture
def busy(chain: Chain, pchain: PChain, observed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that has done everything once."""
    for _ in range(2):
        chain.do()
    index_calls(chain.evm, seconds=60)
    index_tokens(chain.evm, seconds=60, now=0)
    chain.send(chain.make())
    pchain.issue(pchain.make())
    for endpoint in this_node().endpoints.all():
        name = next(iter(endpoint.dispatcher.registry)).name.encode()
        endpoint.dispatcher.answer(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % name)
        endpoint.dispatcher.answer(b'{"jsonrpc":"2.0","id":1,"method":"no_such"}')
    own, hub, socket = this_node().observation.metrics, Hub(), Socket()
    monkeypatch.setattr(own, "http_connections", lambda: 1)
    monkeypatch.setattr(own, "hubs", (hub,))
    hub.connect(socket)
    hub.activate(hub.open(socket, "newHeads"))
    own.block("P", 0.1)
    tasks = TaskListener(own, this_node().processes, this_node().observation.writes)
    tasks.begin(task_id="1", task=TICK)
    tasks.end(task_id="1", task=TICK)
    own.statements.observe("select", 0.1, "OperationalError")
    connection_created.send(type(connection), connection=connection)
    network_rows.report(connected=1, known=3, messages_sent=5, bytes_received=700)
    network_rows.peer(NodeID(bytes(20)), benched=["C"])
    network_rows.sync("P")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING, target_height=40, seconds_left=6.0)
    for alias in "PC":
        consensus.write(replace(REPORT, alias=alias), network_rows.ago(0))
    for path in ("/ext/openapi.json", "/ext/health/liveness"):
        Client(headers={"host": "localhost"}).get(path)


@pytest.fixture
def text(busy: None) -> str:
    """The page as Prometheus receives it."""
    return this_node().observation.page.text()[1].decode()


@pytest.fixture
def page(text: str) -> Page:
    """The values of the page by name and labels."""
    return parse(text)
