"""The OpenAPI page's table of paths, and the page for Prometheus."""

import json
from types import SimpleNamespace

import pytest
from django.test import Client

from health_app.reporter import Reporter
from nodeproject.apps import this_node
from tests.integration.health_app.conftest import at_all_endpoints

pytestmark = pytest.mark.sqlite_only


def test_all_paths_stand_on_the_page(reporter: Reporter) -> None:
    document = json.loads(Client(headers={"host": "localhost"}).get("/ext/openapi.json").content)

    assert {path: sorted(methods) for path, methods in document["paths"].items()} == {
        "/": ["post"],
        "/ext/bc/C/rpc": ["post"],
        "/ext/bc/C/avax": ["post"],
        "/ext/P": ["post"],
        "/ext/bc/P": ["post"],
        "/ext/keystore": ["post"],
        "/ext/bc/X": ["post"],
        "/ext/bc/X/wallet": ["post"],
        "/ext/bc/P/proposervm": ["post"],
        "/ext/index/P/block": ["post"],
        "/ext/index/X/block": ["post"],
        "/ext/index/C/block": ["post"],
        "/ext/info": ["post"],
        "/ext/health": ["get", "post"],
        "/ext/health/readiness": ["get"],
        "/ext/health/liveness": ["get"],
        "/ext/docs": ["get"],
        "/ext/openrpc.json": ["get"],
        "/ext/metrics": ["get"],
    }


@pytest.mark.parametrize("path", ["/ext/info", "/ext/health"])
def test_page_shows_working_calls(reporter: Reporter, path: str) -> None:
    client = Client(headers={"host": "localhost"})
    document = json.loads(client.get("/ext/openapi.json").content)
    content = document["paths"][path]["post"]["requestBody"]["content"]

    answer = client.post(path, content["application/json"]["example"], "application/json")

    assert "result" in json.loads(answer.content)


async def test_metrics_are_equal_at_both_endpoints(
    reporter: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"svc_network_peers 3.0\n"
    page = SimpleNamespace(text=lambda: ("text/plain; version=0.0.4", text))
    monkeypatch.setattr(this_node().observation, "page", page)

    fast = await at_all_endpoints("/ext/metrics")
    slow = Client(headers={"host": "localhost"}).get("/ext/metrics")

    assert (fast.status, fast.body) == (slow.status_code, slow.content) == (200, text)
    assert fast.headers["content-type"] == slow.headers["content-type"]
