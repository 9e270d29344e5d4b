"""Whether this node is in a network, whether the network process runs, and whether its chains are bootstrapped."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from network_app import selectors
from network_app.models import SyncPhase
from network_app.selectors import HEARTBEAT_TOLERANCE
from platform_app.apps import platform_chain
from platform_app.config import DAY
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node, validator

pytestmark = pytest.mark.django_db

NODE = NodeID(b"\x01" * 20)
FOLLOWS = pytest.mark.node_settings(bootstrap=("127.0.0.1:9651",))


def test_a_process_that_never_ran_has_reported_nothing() -> None:
    assert selectors.status() is None
    assert selectors.syncs() == {}


@network_rows.still()
@pytest.mark.parametrize(
    ("age", "tolerance", "fresh"),
    [
        (0, HEARTBEAT_TOLERANCE, True),
        (HEARTBEAT_TOLERANCE, HEARTBEAT_TOLERANCE, True),
        (HEARTBEAT_TOLERANCE + 1, HEARTBEAT_TOLERANCE, False),
        (60, 70, True),
        (60, 50, False),
    ],
)
def test_reports_grow_old(age: float, tolerance: float, *, fresh: bool) -> None:
    status = network_rows.report(heartbeat_at=network_rows.ago(age))

    assert selectors.is_fresh(status, tolerance) is fresh


@network_rows.still()
def test_the_tolerance_of_reports_is_that_of_the_heartbeat() -> None:
    early, late = HEARTBEAT_TOLERANCE, HEARTBEAT_TOLERANCE + 1
    assert selectors.is_fresh(network_rows.report(heartbeat_at=network_rows.ago(early)))
    assert not selectors.is_fresh(network_rows.report(heartbeat_at=network_rows.ago(late)))


def test_node_is_in_a_network_once_another_validator_connects(world: World) -> None:
    assert not selectors.in_network(platform_chain())
    network_rows.report()
    network_rows.peer(NODE)
    assert not selectors.in_network(platform_chain())  # only a guest
    world.p.do(validator(world.p, "other", end=30 * DAY))
    assert not selectors.in_network(platform_chain())
    network_rows.peer(node("other"), connected_since=None)
    assert selectors.in_network(platform_chain())


@FOLLOWS
def test_a_follower_is_in_a_network_from_the_beginning(node_settings: Any) -> None:
    assert selectors.in_network(platform_chain())


def test_node_without_bootstrappers_is_bootstrapped_without_queries(node_settings: Any) -> None:
    network_rows.sync("P", phase=SyncPhase.BOOTSTRAPPING)
    with CaptureQueriesContext(connection) as asked:
        assert all(selectors.is_bootstrapped(alias) for alias in "PXC")
    assert len(asked) == 0


@FOLLOWS
def test_a_follower_has_to_reach_the_frontier(node_settings: Any) -> None:
    assert [selectors.is_bootstrapped(alias) for alias in "PXC"] == [False, False, False]
    network_rows.report()
    network_rows.sync("P", started_at=network_rows.ago(0))
    network_rows.sync("X")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING)
    assert [selectors.is_bootstrapped(alias) for alias in "PXC"] == [True, True, False]
    network_rows.sync("P", phase=SyncPhase.BOOTSTRAPPING)
    assert not selectors.is_bootstrapped("P")


@FOLLOWS
@network_rows.still()
@pytest.mark.parametrize(
    ("started", "silent", "believed"),
    [(60, 0, True), (100, HEARTBEAT_TOLERANCE, True), (59, 0, False), (60, 60, False)],
)
def test_bootstrap_state_of_the_current_run_counts(
    node_settings: Any, started: float, silent: float, *, believed: bool
) -> None:
    began = network_rows.ago(60)
    network_rows.sync("P", started_at=began)
    assert not selectors.is_bootstrapped("P")
    network_rows.report(
        started_at=began + timedelta(seconds=60 - started), heartbeat_at=network_rows.ago(silent)
    )

    with CaptureQueriesContext(connection) as asked:
        assert selectors.is_bootstrapped("P") is believed
    assert len(asked) == 2


def test_chains_are_found_by_their_letter() -> None:
    network_rows.sync("P", height=7)
    network_rows.sync("C", height=9)

    assert {alias: row.height for alias, row in selectors.syncs().items()} == {"P": 7, "C": 9}
