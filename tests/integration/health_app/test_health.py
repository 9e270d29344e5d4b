"""GET and POST on /ext/health: the full report."""

import json
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from health_app.reporter import Reporter
from tests.builders import network_rows
from tests.integration.health_app.conftest import FOLLOWING, Get, at_all_endpoints

PRIMARY_NETWORK = "11111111111111111111111111111111LpoYY"


def call(method: str, params: object = None, **members: Any) -> bytes:
    shown = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **shown, **members}).encode()


def post(body: bytes) -> Any:
    client = Client(headers={"host": "localhost"})
    return client.post("/ext/health", body, content_type="application/json")


@network_rows.still()
def test_the_six_checks_have_the_messages_of_the_specification(
    reporter: Reporter, get: Get
) -> None:
    network_rows.report(last_sent_at=None, last_received_at=None)
    reporter.run_once()

    status, found = get("/ext/health")

    assert status == 200
    assert set(found) == {"checks", "healthy"}
    assert found["healthy"] is True
    messages = {name: check["message"] for name, check in found["checks"].items()}
    network = messages.pop("network")
    assert messages == {
        "C": {"consensus": {"longestRunningBlock": "0s", "outstandingBlocks": 0}, "vm": None},
        "P": {
            "consensus": {"longestRunningBlock": "0s", "outstandingBlocks": 0},
            "vm": {"percentConnected": 1.0},
        },
        "X": {
            "consensus": {
                "outstandingVertices": 0,
                "snowstorm": {"outstandingTransactions": 0},
                "longestRunningBlock": "0s",
                "outstandingBlocks": 0,
            },
            "vm": None,
        },
        "bootstrapped": [],
        "router": {"longestRunningRequest": "0s", "outstandingRequests": 0},
    }
    assert set(network) == {
        "connectedPeers", "sendFailRate", "timeSinceLastMsgSent", "timeSinceLastMsgReceived",
    }  # fmt: skip
    assert (network["connectedPeers"], network["sendFailRate"]) == (0, 0.0)
    assert network["timeSinceLastMsgSent"] == "10m0s"
    for check in found["checks"].values():
        assert datetime.fromisoformat(check["timestamp"]).tzinfo is not None
        assert isinstance(check["duration"], int)
        assert set(check) == {"message", "timestamp", "duration"}


def test_before_the_first_run_the_node_is_not_healthy(get: Get) -> None:
    status, found = get("/ext/health")

    assert status == 503
    assert found["healthy"] is False
    assert found["checks"]["C"] == {
        "error": "not yet run",
        "timestamp": "0001-01-01T00:00:00Z",
        "duration": 0,
    }


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_an_unhealthy_node_answers_503_to_get_and_200_to_post(reporter: Reporter, get: Get) -> None:
    network_rows.report(last_sent_at=None, last_received_at=None)
    reporter.run_once()

    status, found = get("/ext/health")
    answer = post(call("health.health"))

    assert (status, answer.status_code) == (503, 200)
    assert found["healthy"] is False
    assert found["checks"]["network"]["error"].startswith("network layer is unhealthy reason: ")
    assert found["checks"]["network"]["contiguousFailures"] == 1
    assert datetime.fromisoformat(found["checks"]["network"]["timeOfFirstFailure"])
    assert json.loads(answer.content) == {"jsonrpc": "2.0", "result": found, "id": 1}


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_report_is_healthy_again_after_recovery(reporter: Reporter, get: Get) -> None:
    reporter.run_once()
    assert get("/ext/health")[0] == 503

    network_rows.report(connected=2)
    for alias in "PXC":
        network_rows.sync(alias)
    reporter.run_once()

    status, found = get("/ext/health")
    assert (status, found["healthy"]) == (200, True)
    assert "contiguousFailures" not in found["checks"]["network"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"C", "P", "X", "bootstrapped", "network", "router"}),
        (f"tag={PRIMARY_NETWORK}", {"C", "P", "X", "bootstrapped", "network", "router"}),
        ("tag=unknown", {"bootstrapped", "network", "router"}),
        ("tag=unknown&tag=all", {"C", "P", "X", "bootstrapped", "network", "router"}),
        ("tag=application", {"bootstrapped", "network", "router"}),
    ],
)
@pytest.mark.parametrize("path", ["/ext/health", "/ext/health/health"])
def test_tags_choose_checks(get: Get, path: str, query: str, names: set[str]) -> None:
    assert set(get(path, query)[1]["checks"]) == names


@pytest.mark.parametrize("params", [None, {}, [], [{}], {"tags": None}, {"tags": []}])
def test_tags_are_optional_over_json_rpc(reporter: Reporter, params: object) -> None:
    found = json.loads(post(call("health.health", params)).content)["result"]
    assert len(found["checks"]) == 6


def test_over_json_rpc_tags_choose_too(reporter: Reporter) -> None:
    found = json.loads(post(call("health.health", {"tags": ["unknown"]})).content)["result"]
    assert set(found["checks"]) == {"bootstrapped", "network", "router"}


def test_the_probes_over_json_rpc(reporter: Reporter) -> None:
    live = json.loads(post(call("health.liveness")).content)["result"]
    ready = json.loads(post(call("health.readiness")).content)["result"]

    assert live == {"checks": {}, "healthy": True}
    assert set(ready["checks"]) == {"bootstrapped"}
    assert ready["healthy"] is False


def test_error_messages_equal_avalanchegos(reporter: Reporter) -> None:
    unknown = json.loads(post(call("health.nope")).content)["error"]
    unread = json.loads(post(call("health.health", {"tags": "all"})).content)["error"]

    assert unknown["message"] == 'rpc: can\'t find method "health.Nope"'
    assert unread["message"].startswith("couldn't unmarshal an argument.")


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("GET", b""), ("HEAD", b""), ("PUT", b""), ("POST", call("health.health")),
        ("POST", b"nothing"), ("POST", call("health.health", {"tags": ["application"]})),
    ],
)  # fmt: skip
async def test_both_endpoints_return_the_same_bytes(
    reporter: Reporter, method: str, body: bytes
) -> None:
    fast = await at_all_endpoints("/ext/health", method, body)
    slow = Client(headers={"host": "localhost"}).generic(
        method, "/ext/health", body, "application/json"
    )

    assert (fast.status, fast.body) == (slow.status_code, slow.content)
    assert fast.headers["content-type"] == slow.headers["content-type"]
    assert fast.headers["node-id"] == slow.headers["node-id"]


@pytest.mark.parametrize(
    "path",
    [
        "/ext/health/health", "/ext/health/readiness", "/ext/health/liveness", "/ext/nothing",
        "/ext/health/nothing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_both_endpoints_return_the_same_bytes_on_other_paths(
    reporter: Reporter, path: str, method: str
) -> None:
    fast = await at_all_endpoints(path, method)
    slow = Client(headers={"host": "localhost"}).generic(method, path, b"")

    assert (fast.status, fast.body) == (slow.status_code, slow.content)


async def test_unknown_paths_are_answered_like_avalanchego(reporter: Reporter) -> None:
    answer = await at_all_endpoints("/ext/health/nothing")
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


async def test_the_type_of_a_page_is_the_references(reporter: Reporter) -> None:
    page = await at_all_endpoints("/ext/health")
    answer = await at_all_endpoints("/ext/health", "POST", call("health.health"))

    assert page.headers["content-type"] == "application/json"
    assert page.body.endswith(b"}\n")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
