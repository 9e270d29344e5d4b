"""A node that waits for bootstrappers says for how many, wherever its progress is shown."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from network_app import selectors, tasks
from network_app.management.commands import bootstrap_progress
from network_app.ports import Gathering, SyncState
from network_app.store import sync
from tests.builders import health_checks as checks
from tests.builders import network_rows

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.node_settings(bootstrap=("10.0.0.1:1", "10.0.0.2:1")),
]
WORDS = "connected to 2 of 4 bootstrappers, 3 needed"
WAITING = SyncState(False, waiting=Gathering(2, 3, 4))


def write(state: SyncState) -> None:
    sync.write("P", state, datetime.now(UTC))


def test_health_says_why_nothing_is_bootstrapped(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "BEGAN", 0.0)
    network_rows.report()
    write(WAITING)
    assert checks.measure_bootstrapped().error == f"subnets not bootstrapped: {WORDS}"
    write(SyncState(False))
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"


def test_what_a_silent_process_said_is_said_no_more(node_settings: Any) -> None:
    network_rows.report(heartbeat_at=network_rows.ago(60))
    write(WAITING)
    assert selectors.waiting() == ""


def test_the_bar_and_the_log_say_it(node_settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    write(WAITING)
    row = selectors.syncs()["P"]
    assert bootstrap_progress._place(row) == WORDS
    with caplog.at_level(logging.INFO):
        assert tasks.measure_bootstrap() == {"P": 0.0}
    assert caplog.messages == [f"P-Chain waits, {WORDS}"]
    write(SyncState(True))
    assert selectors.syncs()["P"].waiting is None
