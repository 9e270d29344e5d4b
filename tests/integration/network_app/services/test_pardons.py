"""An operator's pardon of a benched peer reaches the network process through a row."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chaindb.database import Database
from network_app.models import NetworkStatus, Peer
from network_app.ports import NetworkTotals
from network_app.services import (
    DatabaseRecords,
    PardonReason,
    PardonRefused,
    pardon,
)
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.builders.network_rows import ago
from tests.builders.reasons import raises

pytestmark = pytest.mark.django_db
NODE, OTHER = NodeID(b"\x01" * 20), NodeID(b"\x02" * 20)
TOTALS = NetworkTotals(1, 2, 3, 4, 5, None, None, 6, 7, 0.25)


@pytest.fixture(autouse=True)
def peers() -> None:
    network_rows.report()
    network_rows.peer(NODE, benched=["C", "P"])
    network_rows.peer(OTHER)


def test_pardon_is_read_once() -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651")
    assert records.pardons([NODE, OTHER]) == []
    pardon(Database(), NODE)
    assert records.pardons([OTHER]) == []
    assert records.pardons([NODE, OTHER]) == [NODE]
    assert records.pardons([NODE, OTHER]) == []


def test_old_pardon_expires() -> None:
    pardon(Database(), NODE)
    Peer.objects.filter(pk=NODE).update(pardoned_at=ago(31))
    assert DatabaseRecords(Database(), "203.0.113.7:9651").pardons([NODE]) == []
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()


def test_age_of_a_pardon_uses_database_time() -> None:
    with time_machine.travel(datetime.now(UTC) - timedelta(minutes=5)):
        network_rows.report()
        pardon(Database(), NODE)
    assert DatabaseRecords(Database(), "203.0.113.7:9651").pardons([NODE]) == [NODE]


def test_no_pardon_needs_no_write() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert DatabaseRecords(Database(), "203.0.113.7:9651").pardons([NODE, OTHER]) == []
    assert [captured_query["sql"].split()[0] for captured_query in asked.captured_queries] == [
        "SELECT"
    ]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_pardon_of_a_disconnected_peer_is_refused(*, is_restarted: bool) -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651")
    pardon(Database(), NODE)
    if is_restarted:
        records.begin()
    else:
        records.peers([], TOTALS, {NODE: {"C"}}, 2)
    gone = Peer.objects.get(pk=NODE)
    assert (gone.connected_since, gone.benched, gone.pardoned_at) == (None, [], None)
    network_rows.report()
    with raises(PardonReason.NOT_BENCHED, kind=PardonRefused):
        pardon(Database(), NODE)


def test_stale_bench_row_is_cleared_at_start() -> None:
    network_rows.peer(NODE, connected_since=None, benched=["C"])
    with raises(PardonReason.NOT_BENCHED, kind=PardonRefused):
        pardon(Database(), NODE)
    DatabaseRecords(Database(), "203.0.113.7:9651").begin()
    assert Peer.objects.get(pk=NODE).benched == []


@pytest.mark.parametrize("node_id", [OTHER, NodeID(b"\x03" * 20)])
def test_pardon_of_an_unbenched_peer_is_refused(node_id: NodeID) -> None:
    with raises(PardonReason.NOT_BENCHED, kind=PardonRefused):
        pardon(Database(), node_id)
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()


@pytest.mark.parametrize("changes", [{"heartbeat_at": ago(60)}, None])
def test_pardon_without_network_process_is_refused(changes: Any) -> None:
    if changes is None:
        NetworkStatus.objects.all().delete()
    else:
        network_rows.report(**changes)
    with raises(PardonReason.NO_REPORT, kind=PardonRefused):
        pardon(Database(), NODE)
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()
