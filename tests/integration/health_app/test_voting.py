"""Health with voting validators: by the answers to polls, and by the quorum that they need."""

from dataclasses import replace
from typing import Any

import pytest

from health_app.result import Finding
from network_app import selectors
from network_app.consensus.report import ConsensusReport, StakeReport
from network_app.store import consensus
from tests.builders import health_checks as checks
from tests.builders import network_rows
from tests.builders.consensus_report import REPORT, node_id
from tests.builders.node_settings import updated

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("pchain")]


@pytest.fixture(autouse=True)
def voting(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.NODE = updated(settings.NODE, consensus="snowman")
    monkeypatch.setattr(selectors, "in_network", lambda *_: True)


def hear(absent: int, **changes: Any) -> Finding:
    """Return the result of the P-Chain's check while `absent` of 10,000 stake is not connected."""
    stake = StakeReport(5, 10_000, {node_id(4): absent})
    report: ConsensusReport = replace(REPORT, alias="P", stake=stake, **changes)
    network_rows.report()
    consensus.write(report, network_rows.ago(0))
    return checks.measure_p_chain()


def share(found: Finding) -> Any:
    return found.message["vm"]["percentConnected"]  # type: ignore[index, call-overload]


def test_connected_stake_is_that_of_poll_responses() -> None:
    found = hear(2799)
    assert share(found) == 0.7201
    assert found.error == ""


def test_how_much_is_enough_follows_from_the_quorum() -> None:
    found = hear(2801)
    assert share(found) == 0.7199
    assert found.error == (
        "consensus is not healthy reason: connected to 71.99% of the stake < 72.00%"
    )


def test_missing_quorum_is_reported_for_both_chains() -> None:
    assert hear(4000).error == (
        "consensus is not healthy reason: hears 60 % of the stake, needs 65 %, "
        "connected to 60.00% of the stake < 72.00%"
    )
    stake = StakeReport(5, 10_000, {node_id(4): 4000})
    consensus.write(replace(REPORT, stake=stake), network_rows.ago(0))
    assert checks.measure_c_chain().error == (
        "consensus is not healthy reason: hears 60 % of the stake, needs 65 %"
    )


def test_node_without_votes_is_checked_by_its_connections() -> None:
    assert share(hear(4000, is_running=False)) == 1.0


def test_report_of_a_silent_process_is_ignored() -> None:
    hear(4000)
    network_rows.report(heartbeat_at=network_rows.ago(60))
    assert "hears" not in checks.measure_p_chain().error


@network_rows.still()
def test_report_older_than_this_process_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hear(4000)
    network_rows.report(heartbeat_at=network_rows.ago(2))
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(1).timestamp())
    assert "hears" not in checks.measure_p_chain().error
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"

    network_rows.report()
    assert "hears 60 %" in checks.measure_p_chain().error
    assert checks.measure_bootstrapped().error == ""
