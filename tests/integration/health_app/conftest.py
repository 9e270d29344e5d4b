"""A node with both chains whose checks run on demand, accessed through both endpoints."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client

from chaindb.database import Database
from health_app import services
from health_app.reporter import Reporter
from health_app.writing import Writes
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import by_path
from nodeproject.apps import this_node
from nodeproject.web import get_pages
from tests.builders import health_checks as checks
from tests.integration.platform_app.conftest import (
    PChain,
    nothing_remembered,
    pchain,
    reference_pchain,
)
from tests.unit.jsonrpc.test_endpoints import Answer, ask, elsewhere

__all__ = ["nothing_remembered", "pchain", "reference_pchain"]

FOLLOWING = ("127.0.0.1:9651",)
"""NODE_BOOTSTRAP of a node that joins a network."""

Get = Callable[..., Any]
"""A function of a path and a query; returns status and decoded body of Django's response."""


@pytest.fixture
def writes() -> Writes:
    """The record of this process's successful and failed writes."""
    return Writes()


@pytest.fixture
def reporter(pchain: PChain, writes: Writes, monkeypatch: pytest.MonkeyPatch) -> Reporter:
    """The process's reporter: it runs in the test's own thread and writes history immediately."""
    table = checks.table(lambda: (0, 0.0), writes)
    made = Reporter(table, changed=partial(services.record, Database()), interval=60.0)
    monkeypatch.setattr(this_node().observation, "reporter", made)
    return made


@pytest.fixture
def get(reporter: Reporter) -> Get:
    """Get a page through Django."""

    def fetch(path: str, query: str = "") -> tuple[int, Any]:
        response = Client(headers={"host": "localhost"}).get(path, QUERY_STRING=query)
        return response.status_code, json.loads(response.content)

    return fetch


async def at_all_endpoints(
    path: str, method: str = "GET", body: bytes = b"", query: str = ""
) -> Answer:
    """Send a request to the plain endpoint with the raw endpoint behind it."""
    workers = Workers(threads=1)
    try:
        raw = AsgiRpc(by_path(this_node().endpoints.all()), elsewhere, Answering(workers))
        app = get_pages.GetPagesMiddleware(this_node().plain.front, raw, workers)
        return await ask(app, method, path, parts=(body,), query=query)
    finally:
        workers.close()
