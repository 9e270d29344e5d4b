"""How the network process parses NODE_BOOTSTRAP, and when it reports errors."""

from typing import Any

import pytest

from network_app.addresses import NodeAddress
from network_app.runtime import LONELY_HEARTBEAT, _Bootstrappers, _Reports
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import checks
from primitives.ids import NodeID
from tests.builders.node_settings import updated

OWN, A = NodeID(bytes(20)), NodeID(bytes([1]) * 20)
ONE, TWO, THREE = (NodeAddress("127.0.0.1", port) for port in (1, 2, 3))


def test_duplicate_and_own_bootstrappers_are_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    named = _Bootstrappers([ONE, TWO, THREE], OWN)
    assert named.beacons({}, set()).configured == 3
    for _ in range(2):
        beacons = named.beacons({ONE: A, TWO: OWN, THREE: A}, {A})
        assert (beacons.connected, beacons.configured) == ({A}, 1)
    assert caplog.messages == [
        "NODE_BOOTSTRAP names 127.0.0.1:2, which is this node itself and is ignored",
        "NODE_BOOTSTRAP names 127.0.0.1:3, which is the node at 127.0.0.1:1: it counts once",
    ]


@pytest.mark.parametrize(
    ("others", "rest"),
    [(("198.51.100.4:1",), ""), ((), " No other node is named, so it has no bootstrap nodes.")],
)
def test_own_address_as_bootstrapper_is_logged(
    monkeypatch: pytest.MonkeyPatch, settings: Any, others: tuple[str, ...], rest: str
) -> None:
    given = updated(NodeSettings(), bootstrap=("127.0.0.1:9651", *others))
    monkeypatch.setattr(checks, "GIVEN", given)
    settings.NODE = updated(settings.NODE, bootstrap=others)
    (found,) = checks.check_bootstrappers()
    assert found.msg == (
        f"NODE_BOOTSTRAP names this node itself: 127.0.0.1:9651 is left out.{rest}"
    )


def test_a_node_without_peers_reports_seldom_and_a_change_at_once() -> None:
    reports, at = _Reports(), 1000.0

    def told(connected: int, now: float) -> bool:
        due = reports.is_due(connected, now)
        if due:
            reports.done(connected, now)
        return due

    assert told(0, at)
    assert not told(0, at + 1)
    assert told(1, at + 2)
    assert told(1, at + 3)
    assert told(0, at + 4)
    assert not told(0, at + 5)
    assert told(0, at + 4 + LONELY_HEARTBEAT)
