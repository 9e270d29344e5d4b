"""Health, probes and info of the running node, as queried by monitors and operators."""

import itertools
import json
import time
from http.client import HTTPConnection
from typing import Any, NamedTuple

import pytest

from tests.e2e.checked import CheckedNode
from tests.servers.ports import has_ipv6

PATIENCE = 120.0
"""Seconds until all checks have run once and their results are saved, on a busy machine."""

every_kind = pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)


class Page(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    node: CheckedNode,
    path: str,
    body: object = None,
    *,
    method: str = "",
    address: str = "127.0.0.1",
) -> Page:
    connection = HTTPConnection(address, node.port, timeout=60)
    content = None if body is None else json.dumps(body)
    headers = {} if body is None else {"content-type": "application/json"}
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, content, headers)
        response = connection.getresponse()
        shown = {name.lower(): value for name, value in response.getheaders()}
        return Page(response.status, shown, response.read())
    finally:
        connection.close()


def call(node: CheckedNode, path: str, method: str, params: object = None) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    return ask(node, path, request if params is None else request | {"params": params}).json


def wait_for_health(node: CheckedNode) -> Page:
    until = time.monotonic() + PATIENCE
    while (page := ask(node, "/ext/health")).status != 200 and time.monotonic() < until:
        time.sleep(0.1)
    return page


@every_kind
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_clients_of_both_families_are_answered(node: CheckedNode, address: str) -> None:
    if address == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    assert ask(node, "/ext/health/liveness", address=address).status == 200


@every_kind
def test_node_without_peers_is_healthy_and_ready(node: CheckedNode) -> None:
    page = wait_for_health(node)

    assert (page.status, page.json["healthy"]) == (200, True)
    assert set(page.json["checks"]) == {"C", "P", "X", "bootstrapped", "network", "router"}
    assert page.headers["content-type"] == "application/json"
    assert ask(node, "/ext/health/liveness").body == b'{"checks":{},"healthy":true}\n'
    assert ask(node, "/ext/health/readiness").status == 200
    over_rpc = call(node, "/ext/health", "health.health")["result"]
    assert set(over_rpc["checks"]) == set(page.json["checks"])


@every_kind
def test_all_responses_have_the_node_id_header(node: CheckedNode) -> None:
    own = call(node, "/ext/info", "info.getNodeID")["result"]["nodeID"]

    for path in ("/ext/health", "/ext/health/liveness", "/ext/metrics", "/ext/nothing"):
        assert ask(node, path).headers["node-id"] == own
    unknown = ask(node, "/ext/nothing")
    assert (unknown.status, unknown.body) == (404, b"404 page not found\n")
    assert ask(node, "/ext/health/liveness", method="HEAD").body == b""
    assert ask(node, "/ext/docs").status == 200


@every_kind
def test_info_is_measured(node: CheckedNode) -> None:
    wait_for_health(node)

    assert call(node, "/ext/info", "info.isBootstrapped", {"chain": "C"})["result"] == {
        "isBootstrapped": True
    }
    address = call(node, "/ext/info", "info.getNodeIP")["result"]["ip"]
    host, _, port = address.rpartition(":")
    assert host == "127.0.0.1"
    assert port.isdigit()
    assert call(node, "/ext/info", "info.peers")["result"] == {"numPeers": "0", "peers": []}
    uptime = call(node, "/ext/info", "info.uptime")["result"]
    # Without peers, this node's own stake is the whole connected stake; other tests add validators.
    assert uptime["rewardingStakePercentage"] == uptime["weightedAveragePercentage"]
    assert 90 < float(uptime["rewardingStakePercentage"]) <= 100


@every_kind
def test_the_first_results_are_in_the_history_once(node: CheckedNode) -> None:
    wait_for_health(node)
    found: dict[str, list[str]] = {}
    until = time.monotonic() + PATIENCE
    while len(found) < 2 and time.monotonic() < until:
        found = {name: errors for name in ("C", "X") if (errors := history(node, name))}
        time.sleep(0.1)

    assert len(found) == 2
    # On a machine that was busy for seconds a check may have failed since then, which adds further changes.
    for errors in found.values():
        assert all(error != following for error, following in itertools.pairwise(errors))


def history(node: CheckedNode, check: str) -> list[str]:
    """Return the error at each change of a check, in order; an empty string means that the check passed."""
    with node.database() as database:
        rows = database(
            f"SELECT error FROM health_app_healthchange WHERE name = '{check}' ORDER BY id"
        )
    return [error for (error,) in rows]
