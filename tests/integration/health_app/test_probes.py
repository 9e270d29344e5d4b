"""GET /ext/health/liveness and /ext/health/readiness, especially during a database outage."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from health_app.reporter import Reporter
from health_app.result import CheckResult
from network_app.models import SyncPhase
from tests.builders import network_rows
from tests.integration.health_app.conftest import FOLLOWING, Get, at_all_endpoints


@pytest.fixture
def broken_database(reporter: Reporter) -> Iterator[pytest.MonkeyPatch]:
    """Make every database query fail from now on; `undo` repairs the database."""

    def away(*_arguments: Any) -> None:
        raise OperationalError("connection to 10.1.2.3 refused")

    with pytest.MonkeyPatch.context() as patched:
        for name in ("cursor", "chunked_cursor", "ensure_connection", "connect"):
            patched.setattr(BaseDatabaseWrapper, name, away)
        yield patched


def test_responding_node_is_alive(get: Get) -> None:
    assert get("/ext/health/liveness") == (200, {"checks": {}, "healthy": True})


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_a_node_is_ready_when_all_chains_are_bootstrapped(reporter: Reporter, get: Get) -> None:
    network_rows.report(connected=1)
    network_rows.sync("P")
    network_rows.sync("X")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING)
    reporter.run_once()

    status, found = get("/ext/health/readiness")
    assert (status, found["healthy"]) == (503, False)
    assert set(found["checks"]) == {"bootstrapped"}
    assert found["checks"]["bootstrapped"]["message"] == ["11111111111111111111111111111111LpoYY"]
    assert found["checks"]["bootstrapped"]["error"] == "subnets not bootstrapped"

    network_rows.sync("C")
    reporter.run_once()
    status, found = get("/ext/health/readiness")
    assert (status, found["healthy"]) == (200, True)
    assert found["checks"]["bootstrapped"]["message"] == []


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_node_that_was_ready_remains_ready(reporter: Reporter, get: Get) -> None:
    network_rows.report(connected=1)
    network_rows.sync("P")
    network_rows.sync("X")
    network_rows.sync("C")
    reporter.run_once()
    network_rows.sync("P", phase=SyncPhase.BOOTSTRAPPING)
    reporter.run_once()

    assert get("/ext/health/readiness")[0] == 200
    assert get("/ext/health")[0] == 503


async def test_probes_respond_during_a_database_outage(
    reporter: Reporter, broken_database: pytest.MonkeyPatch
) -> None:
    live = await at_all_endpoints("/ext/health/liveness")
    ready = await at_all_endpoints("/ext/health/readiness")
    full = await at_all_endpoints("/ext/health")

    assert (live.status, live.body) == (200, b'{"checks":{},"healthy":true}\n')
    assert ready.status == full.status == 503


def test_checks_report_a_database_outage(
    reporter: Reporter, broken_database: pytest.MonkeyPatch
) -> None:
    told: dict[str, CheckResult] = {}
    reporter._changed = told.__setitem__
    reporter.run_once()

    found = reporter.health().to_json()["checks"]
    failing = {name: check["error"] for name, check in found.items() if "error" in check}
    words = "the database does not answer: OperationalError"
    assert failing == {"C": words, "P": words, "X": words, "network": words}
    assert {name for name, result in told.items() if not result.healthy} == set(failing)
    assert "10.1.2.3" not in json.dumps(found)


def test_checks_pass_after_a_database_outage(
    reporter: Reporter, broken_database: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, bool]] = []
    reporter._changed = lambda name, result: told.append((name, result.healthy))
    reporter.run_once()
    broken_database.undo()
    network_rows.report()
    reporter.run_once()

    assert reporter.health().healthy
    assert told[-4:] == [("C", True), ("P", True), ("X", True), ("network", True)]
