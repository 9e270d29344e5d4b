"""A node that waits for bootstrappers reports how many are missing, wherever its progress is shown."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command

from cchain_app.apps import evm_chains
from chaindb.database import Database
from health_app import advice
from health_app.metrics import network as metrics
from network_app import selectors, tasks
from network_app.management.commands import bootstrap_progress
from network_app.ports import DialFailure, Gathering, NetworkTotals, SyncState
from network_app.services import DatabaseRecords
from network_app.store import sync
from platform_app.apps import platform_chain
from tests.builders import health_checks as checks
from tests.builders import network_rows

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.node_settings(bootstrap=("10.0.0.1:1", "10.0.0.2:1")),
]
WORDS = "connected to 2 of 4 bootstrappers, 3 needed"
FAILURE = DialFailure("10.0.0.1:1", "clock", "this node's clock is 90 s ahead", 90)
TOTALS = NetworkTotals(0, 0, 0, 0, 0, None, None, 0, 0, 0.0)
WAITING = SyncState(False, waiting=Gathering(2, 3, 4))


def write(state: SyncState) -> None:
    sync.write("P", state, datetime.now(UTC))


def test_health_reports_why_bootstrapping_waits(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "BEGAN", 0.0)
    network_rows.report()
    write(WAITING)
    assert checks.measure_bootstrapped().error == f"subnets not bootstrapped: {WORDS}"
    write(SyncState(False))
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"


def report_failure() -> None:
    """Report that a bootstrapper is not connected, and that the P-Chain waits for bootstrappers."""
    reports = DatabaseRecords(Database(), "203.0.113.7:9651")
    reports.peers([], TOTALS, {}, 0, [FAILURE])
    write(WAITING)


def test_health_gives_the_reason_why_bootstrappers_are_not_connected(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "BEGAN", 0.0)
    report_failure()

    assert checks.measure_bootstrapped().error == f"subnets not bootstrapped: {WORDS}, {FAILURE}"
    assert f"only 0, {FAILURE}, no messages received" in checks.measure_network().error
    for check, error in (
        ("bootstrapped", checks.measure_bootstrapped().error),
        ("network", checks.measure_network().error),
    ):
        assert "bootstrapper …: …" in [known.message for known in advice.find(check, error)]

    # A bootstrapped chain needs no bootstrapper; one connected peer is enough.
    write(SyncState(True))
    network_rows.report(connected=1, dial_failures=[FAILURE._asdict()])
    assert checks.measure_network().error == ""
    assert "clock" not in checks.measure_bootstrapped().error


def test_dial_failures_of_a_silent_process_are_not_shown(node_settings: Any) -> None:
    network_rows.report(heartbeat_at=network_rows.ago(60), dial_failures=[FAILURE._asdict()])
    assert selectors.dial_failures(selectors.status()) == []


def test_bootstrap_progress_prints_the_reason_once(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[Callable[[], Any]] = [lambda: None, lambda: None, _finish]
    sleep = type("Time", (), {"sleep": lambda _seconds: steps.pop(0)()})
    monkeypatch.setattr(bootstrap_progress, "time", sleep)
    report_failure()

    call_command("bootstrap_progress")

    shown = " ".join(capsys.readouterr().err.split())
    assert shown.count(f"Not connected to {FAILURE}") == 1


def _finish() -> None:
    network_rows.report()
    for alias in "PXC":
        network_rows.sync(alias)


def test_the_metrics_have_the_reason_and_the_offset_of_the_clock(node_settings: Any) -> None:
    report_failure()

    samples = {
        sample.name: (sample.labels, sample.value)
        for metric in metrics.of_network(platform_chain(), evm_chains())
        for sample in metric.samples
        if "bootstrapper" in sample.name
    }

    assert samples == {
        "svc_network_bootstrapper_failing": ({"address": "10.0.0.1:1", "reason": "clock"}, 1),
        "svc_network_bootstrapper_clock_offset_seconds": ({"address": "10.0.0.1:1"}, 90),
    }


def test_waiting_reason_of_a_silent_process_is_not_shown(node_settings: Any) -> None:
    network_rows.report(heartbeat_at=network_rows.ago(60))
    write(WAITING)
    assert selectors.waiting() == ""


def test_the_bar_and_the_log_say_it(node_settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    write(WAITING)
    row = selectors.syncs()["P"]
    assert bootstrap_progress._progress_text(row) == WORDS
    with caplog.at_level(logging.INFO):
        assert tasks.measure_bootstrap() == {"P": 0.0}
    assert caplog.messages == [f"P-Chain is waiting: {WORDS}"]
    write(SyncState(True))
    assert selectors.syncs()["P"].waiting is None
