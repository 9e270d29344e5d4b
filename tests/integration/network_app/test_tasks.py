"""What the clock brings the network: uptimes from connections, rates from heights."""

from typing import Any

import pytest

from chaindb import clock
from network_app import tasks
from network_app.models import SyncPhase
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
    """Another node validates, too."""
    world.p.do(validator(world.p, "other", end=30 * DAY))
    return world


def test_who_is_connected_is_online(validated: World) -> None:
    connect()

    assert tasks.track_uptime() == {"connected": 1}

    assert set(rows.connected()) == {OTHER, validated.p.node_id}


def test_a_node_that_nobody_ever_came_to_tracks_nothing(validated: World) -> None:
    assert tasks.track_uptime() == {"connected": 0}
    network_rows.report()
    assert tasks.track_uptime() == {"connected": 0}
    assert not uptime.tracking()


def test_who_goes_is_offline(validated: World) -> None:
    connect()
    tasks.track_uptime()
    network_rows.peer(OTHER, connected_since=None)

    assert tasks.track_uptime() == {"connected": 0}

    assert set(rows.connected()) == {validated.p.node_id}


def test_while_nobody_looks_nobody_is_offline(validated: World) -> None:
    connect()
    tasks.track_uptime()
    connect(silent=1_000)

    assert tasks.track_uptime() == {"connected": 0}

    assert set(rows.connected()) == {OTHER, validated.p.node_id}
    assert clock.now() == validated.p.now


@pytest.mark.django_db
def test_rates_are_told(caplog: pytest.LogCaptureFixture) -> None:
    way: dict[str, Any] = {
        "phase": SyncPhase.BOOTSTRAPPING, "start_height": 0, "height": 400, "target_height": 1000,
    }  # fmt: skip
    network_rows.sync("P")
    network_rows.sync("C", **way, measured_height=300, measured_at=network_rows.ago(10))

    with caplog.at_level("INFO"):
        rates = tasks.measure_bootstrap()

    assert list(rates) == ["C"]
    assert rates["C"] == pytest.approx(10.0, rel=0.2)
    assert "C-Chain at 400 of 1000 (40 %), " in caplog.text
    network_rows.sync("C", **way, measured_height=400, measured_at=network_rows.ago(10))
    with caplog.at_level("INFO"):
        assert tasks.measure_bootstrap() == {"C": 0.0}
    assert "0.0 blocks/s, unknown left" in caplog.text
