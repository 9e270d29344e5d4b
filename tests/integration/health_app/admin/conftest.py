"""A health history, and a browser that records the database queries of each page."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from chaindb.database import Database
from health_app import services
from health_app.models import HealthChange
from health_app.result import CheckResult
from tests.integration.admin_pages import Browse, browser

SECOND = 1_000_000_000
ISOLATED = (
    "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, "
    "no messages received from network in 1m5s > 1m0s"
)
PATH = "/admin/health_app/healthchange/"


@pytest.fixture
def history(db: None) -> None:
    """All checks pass; then network and bootstrapping fail for a while; the P-Chain still fails."""
    names = ("C", "P", "X", "bootstrapped", "network", "router")
    told = [
        *((name, "", {"figure": 1}) for name in names),
        ("network", ISOLATED, {"connectedPeers": 0}),
        ("bootstrapped", "subnets not bootstrapped", ["11111111111111111111111111111111LpoYY"]),
        ("bootstrapped", "", []),
        ("network", "", {"connectedPeers": 4}),
        ("P", "the database does not answer: OperationalError", None),
    ]
    for number, (name, error, message) in enumerate(told):
        ended = (1_790_000_000 + 60 * number) * SECOND
        services.record(Database(), name, CheckResult(message, error, ended))


@pytest.fixture
def long_history(db: None) -> None:
    """Three hundred changes of each check."""
    HealthChange.objects.bulk_create(
        HealthChange(
            name=name,
            healthy=bool(number % 3),
            error="" if number % 3 else "stuck",
            message={},
            at=datetime.fromtimestamp(number, UTC),
        )
        for number in range(300)
        for name in ("C", "P", "X", "bootstrapped", "network", "router")
    )


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "health_app")
