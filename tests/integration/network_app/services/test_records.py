"""Reports of the network process are visible to other processes, each in one transaction."""

from datetime import UTC, datetime

import pytest
from django.db import DatabaseError

from chaindb.database import Database
from network_app import selectors, services
from network_app.models import ChainSync, NetworkStatus, Peer
from network_app.ports import NetworkTotals, PeerInfo, SyncState
from network_app.services import DatabaseRecords
from network_app.store import peers
from primitives.ids import NodeID
from tests.builders import network_rows

pytestmark = pytest.mark.django_db

NODE = NodeID(b"\x01" * 20)
TOTALS = NetworkTotals(1, 2, 3, 4, 5, None, None, 6, 7, 0.25)


def info() -> PeerInfo:
    now = datetime.now(UTC).timestamp()
    return PeerInfo(NODE, "198.51.100.4:1", "198.51.100.4:9651", "v/1.0.0", 0, now, now, now, 80)


def test_report_is_current_and_names_connected_peers() -> None:
    began = datetime.now(UTC)
    reports = DatabaseRecords(Database(), "203.0.113.7:9651")

    reports.peers([info()], TOTALS, {NODE: ["C"]}, known=4)

    status = selectors.status()
    assert status is not None
    assert selectors.is_fresh(status)
    assert began <= status.started_at <= status.heartbeat_at <= datetime.now(UTC)
    assert (status.ip, status.connected, status.known) == ("203.0.113.7:9651", 1, 4)
    (peer,) = selectors.peers()
    assert (peer.node_id, peer.benched) == (NODE, ["C"])


def test_a_report_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**given: object) -> None:
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(peers, "write_status", fail)

    with pytest.raises(DatabaseError, match=r"^the disk is full$"):
        DatabaseRecords(Database(), "203.0.113.7:9651").peers([info()], TOTALS, {}, known=4)

    assert (Peer.objects.count(), NetworkStatus.objects.count()) == (0, 0)


def test_start_clears_connections_and_progress() -> None:
    network_rows.peer(NODE)
    network_rows.sync("P")

    DatabaseRecords(Database(), "203.0.113.7:9651").begin()

    assert Peer.objects.get().connected_since is None
    assert ChainSync.objects.count() == 0


def test_end_clears_connections() -> None:
    network_rows.report(connected=1)
    network_rows.peer(NODE)

    services.end(Database())

    assert selectors.connected_ids() == frozenset()


@network_rows.still()
def test_progress_is_written_and_measured() -> None:
    reports = DatabaseRecords(Database(), "203.0.113.7:9651")
    reports.sync("C", SyncState(bootstrapped=False, height=10, target_height=90))
    ChainSync.objects.update(measured_at=network_rows.ago(10))
    reports.sync("C", SyncState(bootstrapped=False, height=30, target_height=90))

    (row,) = services.measure(Database())

    assert row.blocks_per_second == pytest.approx(2.0)
    assert row.seconds_left == pytest.approx(30.0)
    assert selectors.syncs()["C"].height == 30


def test_writers_of_a_process_take_turns(
    turns: list[Database],
) -> None:
    db = Database()
    reports = DatabaseRecords(db, "203.0.113.7:9651")

    reports.begin()
    reports.peers([info()], TOTALS, {}, known=4)
    services.measure(db)
    services.prune(db)
    services.end(db)

    assert turns == [db] * 5
