"""Rows of nodes that connected once are removed: any client can connect with ever new certificates."""

import pytest

from chaindb.database import Database
from network_app import selectors, services
from network_app.models import Peer
from network_app.store import peers
from primitives.ids import NodeID
from tests.builders import network_rows

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 24 * 60 * 60


def node(number: int) -> NodeID:
    return NodeID(number.to_bytes(20))


def gone(number: int, days: float) -> None:
    network_rows.peer(node(number), connected_since=None, last_seen=network_rows.ago(days * DAY))


def left() -> set[NodeID]:
    return set(Peer.objects.values_list("node_id", flat=True))


def test_peer_unseen_for_a_month_is_deleted() -> None:
    gone(1, 31)
    gone(2, 29)

    assert services.prune(Database()) == 1

    assert left() == {node(2)}


def test_connected_peer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MAX_REMEMBERED", 0)
    network_rows.report()
    network_rows.peer(node(1), last_seen=network_rows.ago(40 * DAY))

    assert services.prune(Database()) == 0

    assert selectors.connected_ids() == {node(1)}


def test_oldest_peers_above_the_limit_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MAX_REMEMBERED", 2)
    for number, days in ((1, 4), (2, 3), (3, 2), (4, 1)):
        gone(number, days)

    assert services.prune(Database()) == 2

    assert left() == {node(3), node(4)}
