"""Rows of connected peers: created, updated, and kept when the nodes disconnect."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from network_app.models import NetworkStatus, Peer
from network_app.ports import NetworkTotals, PeerInfo
from network_app.store import peers
from primitives.ids import ID, NodeID

pytestmark = pytest.mark.django_db

A, B, C = (NodeID(bytes([number]) * 20) for number in (1, 2, 3))
BEGAN = 1_900_000_000.25


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(BEGAN + seconds, UTC)


def info(node_id: NodeID = A, connected: float = 0.0, **changes: Any) -> PeerInfo:
    """Return a peer that connected some seconds after the beginning."""
    return replace(
        PeerInfo(
            node_id=node_id,
            ip="198.51.100.4:50123",
            public_ip="203.0.113.7:9651",
            version="avalanchego/1.14.2",
            upgrade_time=1_607_144_400,
            connected_at=BEGAN + connected,
            last_sent=BEGAN + connected + 1,
            last_received=BEGAN + connected + 2,
            observed_uptime=97,
            tracked_subnets=(ID(b"\x05" * 32),),
            supported_acps=(23, 77),
            objected_acps=(99,),
            outbound=True,
        ),
        **changes,
    )


def write(*connected: PeerInfo, after: float = 0.0, **benched: Any) -> None:
    peers.write_connected(connected, benched.get("benched", {}), at(after))


def row(node_id: NodeID = A) -> Peer:
    return Peer.objects.get(node_id=node_id)


def connected() -> set[NodeID]:
    return set(Peer.objects.exclude(connected_since=None).values_list("node_id", flat=True))


def test_all_that_is_known_of_a_peer_is_written() -> None:
    write(info(), after=5, benched={A: {"P", "C"}, B: {"C"}})

    found = row()
    assert (found.node, found.ip, found.public_ip) == (
        str(A), "198.51.100.4:50123", "203.0.113.7:9651",
    )  # fmt: skip
    assert (found.version, found.upgrade_time, found.outbound) == (
        "avalanchego/1.14.2", 1_607_144_400, True,
    )  # fmt: skip
    assert (found.connected_since, found.first_seen, found.last_seen) == (at(0), at(0), at(5))
    assert (found.last_sent, found.last_received, found.observed_uptime) == (at(1), at(2), 97)
    assert found.tracked_subnets == [str(ID(b"\x05" * 32))]
    assert (found.supported_acps, found.objected_acps) == ([23, 77], [99])
    assert found.benched == ["C", "P"]
    assert found.times_connected == 1
    assert Peer.objects.count() == 1


def test_connected_peer_is_updated() -> None:
    write(info(), after=1)
    write(info(observed_uptime=50, last_sent=BEGAN + 8, version="other/2.0.0"), after=10)

    found = row()
    assert (found.observed_uptime, found.version) == (50, "other/2.0.0")
    assert (found.last_sent, found.last_seen, found.first_seen) == (at(8), at(10), at(0))
    assert (found.connected_since, found.times_connected) == (at(0), 1)


def test_connections_and_disconnections_are_stored() -> None:
    write(info(A), info(B))
    assert connected() == {A, B}
    write(info(B), info(C, 3), after=5)
    assert connected() == {B, C}
    assert (row(A).last_seen, row(A).connected_since, row(A).ip) == (
        at(0), None, "198.51.100.4:50123",
    )  # fmt: skip
    write(after=6)
    assert connected() == set()
    assert Peer.objects.count() == 3


def test_each_connection_is_counted() -> None:
    write(info(A, 0), info(B, 0))
    write(info(A, 0), info(B, 0), after=1)
    assert (row(A).times_connected, row(B).times_connected) == (1, 1)
    write(info(B, 0), after=2)
    write(info(A, 3), info(B, 4), after=5)  # B reconnected between two reports

    assert (row(A).times_connected, row(B).times_connected) == (2, 2)
    assert (row(A).connected_since, row(A).first_seen) == (at(3), at(0))


def test_short_connections_of_unknown_peers_leave_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any client can connect with a new certificate each second."""
    monkeypatch.setattr(peers, "MAX_IMMEDIATE", 3)
    for second in range(10):
        write(*[info(NodeID(bytes([second, n]) * 10), second) for n in range(2)], after=second)
    assert Peer.objects.count() == 3

    write(info(A, 20), info(B, 20, known=True), after=21)
    assert connected() == {B}  # a validator, or a dialled peer

    write(info(A, 20), info(B, 20, known=True), after=319)
    assert connected() == {B}
    write(info(A, 20), info(B, 20, known=True), after=320)
    assert connected() == {A, B}
    assert (row(A).first_seen, row(A).times_connected) == (at(20), 1)
    write(info(A, 400), after=400)  # a peer known from before is shown immediately
    assert (connected(), row(A).times_connected) == ({A}, 2)


def test_forgetting_connections_marks_all_peers_disconnected() -> None:
    write(info(A), info(B))
    peers.forget_connections()

    assert connected() == set()
    write(info(A, 9), after=10)
    assert (connected(), row(A).times_connected) == ({A}, 2)


def test_process_has_one_row() -> None:
    totals = NetworkTotals(1, 2, 3, 4, 5, None, None, 6, 7, 0.25)
    status: dict[str, Any] = {"ip": "203.0.113.7:9651", "started": at(0), "connected": 2}
    peers.write_status(**status, known=9, now=at(1), totals=totals)
    later = totals._replace(messages_sent=10, last_sent=BEGAN + 2, last_received=BEGAN + 3)
    peers.write_status(**status, known=8, now=at(4), totals=later)

    found = NetworkStatus.objects.get()
    assert (found.ip, found.started_at, found.heartbeat_at) == ("203.0.113.7:9651", at(0), at(4))
    assert (found.connected, found.known) == (2, 8)
    assert (found.messages_sent, found.messages_received) == (10, 2)
    assert (found.bytes_sent, found.bytes_received) == (3, 4)
    assert (found.send_failures, found.send_fail_rate) == (5, 0.25)
    assert (found.last_sent_at, found.last_received_at) == (at(2), at(3))
    assert (found.times_connected, found.times_disconnected) == (6, 7)
