"""A network with history and a running process, and a browser that records the database queries of each page."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from chaindb import clock
from tests.builders import network_rows, own_node, platform_history
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.integration.admin_pages import Browse, browser
from tests.integration.network_app.admin import past


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Empty the process's cache of stakers, stop the chain's clock, and use the first validator's node ID."""
    monkeypatch.setattr(clock, "now", lambda: platform_history.NOW)
    own_node.be(monkeypatch, past.node(0))
    restart_node()
    yield
    restart_node()


@pytest.fixture(scope="module")
def written_past(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Write the history once for all tests of a module; each test rolls back its own changes."""
    with django_db_blocker.unblock():
        past.write()
    yield
    with django_db_blocker.unblock():
        past.erase()


@pytest.fixture
def network(written_past: None, db: None, settings: Any) -> None:
    """The network, whose process runs and bootstraps the C-Chain from another node."""
    settings.NODE = updated(settings.NODE, bootstrap=("203.0.113.1:9651",))
    network_rows.report(
        connected=65,
        known=1_234,
        messages_sent=12_345,
        messages_received=54_321,
        bytes_sent=5 * 1024 * 1024 + 1,
        bytes_received=999,
        send_failures=17,
        send_fail_rate=0.0321,
        times_connected=140,
        times_disconnected=75,
    )
    past.end_bootstrap("P")
    past.begin_bootstrap("C")


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "network_app")
