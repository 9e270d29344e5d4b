"""Periodic network tasks: uptimes from connections, rates from heights."""

import re
from typing import Any

import pytest

from chaindb import clock
from network_app import tasks
from network_app.models import SyncPhase
from platform_app.apps import platform_chain
from platform_app.config import DAY
from platform_app.services import uptime
from platform_app.store import uptime as rows
from tests.builders import network_rows
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node, validator

OTHER = node("other")


def connect(*, silent: float = 0.0) -> None:
    """Write that the other validator is connected."""
    network_rows.report(connected=1, heartbeat_at=network_rows.ago(silent))
    network_rows.peer(OTHER)


@pytest.fixture
def validated(world: World) -> World:
    """A second validator, on another node."""
    world.p.do(validator(world.p, "other", end=30 * DAY))
    return world


def test_connected_validator_is_online(validated: World) -> None:
    connect()

    assert tasks.track_uptime() == {"connected": 1}

    assert set(rows.connected(platform_chain().db)) == {OTHER, validated.p.node_id}


def test_node_without_peers_does_not_track_uptime(validated: World) -> None:
    assert tasks.track_uptime() == {"connected": 0}
    network_rows.report()
    assert tasks.track_uptime() == {"connected": 0}
    assert not uptime.tracking(platform_chain())


def test_disconnected_validator_is_offline(validated: World) -> None:
    connect()
    tasks.track_uptime()
    network_rows.peer(OTHER, connected_since=None)

    assert tasks.track_uptime() == {"connected": 0}

    assert set(rows.connected(platform_chain().db)) == {validated.p.node_id}


def test_silent_network_process_marks_no_validator_offline(validated: World) -> None:
    connect()
    tasks.track_uptime()
    connect(silent=1_000)

    assert tasks.track_uptime() == {"connected": 0}

    assert set(rows.connected(platform_chain().db)) == {OTHER, validated.p.node_id}
    assert clock.now() == validated.p.now


@network_rows.still()
@pytest.mark.django_db
def test_bootstrap_rate_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    way: dict[str, Any] = {
        "phase": SyncPhase.BOOTSTRAPPING, "start_height": 0, "height": 400, "target_height": 1000,
    }  # fmt: skip
    network_rows.sync("P")
    network_rows.sync("C", **way, measured_height=300, measured_at=network_rows.ago(10))

    with caplog.at_level("INFO"):
        rates = tasks.measure_bootstrap()

    assert list(rates) == ["C"]
    assert rates["C"] == pytest.approx(10.0)
    (words,) = caplog.messages
    assert re.fullmatch(r"C-Chain: 400 of 1,000 blocks \(40 %\), 10\.0 blocks/s, 60 s left", words)


@pytest.mark.django_db
def test_stalled_chain_is_logged_without_time_left(caplog: pytest.LogCaptureFixture) -> None:
    network_rows.sync(
        "C", phase=SyncPhase.BOOTSTRAPPING, start_height=12_300, height=12_612,
        target_height=12_681, measured_height=12_612, measured_at=network_rows.ago(10),
    )  # fmt: skip

    with caplog.at_level("INFO"):
        assert tasks.measure_bootstrap() == {"C": 0.0}

    assert caplog.messages == [
        "C-Chain: 312 of 381 blocks since height 12,300 (81 %), 0.0 blocks/s"
    ]


@network_rows.still()
@pytest.mark.django_db
def test_progress_without_measurement_is_logged_without_rate(
    caplog: pytest.LogCaptureFixture,
) -> None:
    network_rows.sync(
        "C", phase=SyncPhase.BOOTSTRAPPING, height=832, target_height=3_003,
        measured_height=832, measured_at=network_rows.ago(0),
    )  # fmt: skip

    with caplog.at_level("INFO"):
        tasks.measure_bootstrap()

    assert caplog.messages == ["C-Chain: 832 of 3,003 blocks (27 %)"]
