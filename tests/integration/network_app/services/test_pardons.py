"""An operator's wish that a benched peer be asked again comes from one process to another by a row."""

from typing import Any

import pytest

from network_app.models import Peer
from network_app.services.pardons import NobodyListens, NotBenched, pardon
from network_app.services.records import DatabaseRecords
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.builders.network_rows import ago

pytestmark = pytest.mark.django_db
NODE, OTHER = NodeID(b"\x01" * 20), NodeID(b"\x02" * 20)


@pytest.fixture(autouse=True)
def peers() -> None:
    network_rows.report()
    network_rows.peer(NODE, benched=["C", "P"])
    network_rows.peer(OTHER)


def test_a_wish_is_heard_once() -> None:
    records = DatabaseRecords("203.0.113.7:9651")
    assert records.pardons([NODE, OTHER]) == []
    pardon(NODE)
    assert records.pardons([OTHER]) == []
    assert records.pardons([NODE, OTHER]) == [NODE]
    assert records.pardons([NODE, OTHER]) == []


def test_an_old_wish_is_forgotten() -> None:
    pardon(NODE)
    Peer.objects.filter(pk=NODE).update(pardoned_at=ago(31))
    assert DatabaseRecords("203.0.113.7:9651").pardons([NODE]) == []
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()


@pytest.mark.parametrize("node_id", [OTHER, NodeID(b"\x03" * 20)])
def test_a_peer_that_is_asked_cannot_be_pardoned(node_id: NodeID) -> None:
    with pytest.raises(NotBenched):
        pardon(node_id)
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()


@pytest.mark.parametrize("changes", [{"heartbeat_at": ago(60)}, None])
def test_without_a_network_s_process_nobody_hears_it(changes: Any) -> None:
    if changes is None:
        network_rows.NetworkStatus.objects.all().delete()
    else:
        network_rows.report(**changes)
    with pytest.raises(NobodyListens):
        pardon(NODE)
    assert not Peer.objects.filter(pardoned_at__isnull=False).exists()
