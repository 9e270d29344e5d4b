"""A benched peer can be pardoned from its page."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from network_app.models import Peer
from tests.builders import network_rows
from tests.builders.network_rows import ago
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import detail

pytestmark = pytest.mark.usefixtures("network")
BENCHED, ASKED = past.node(4), past.node(6)


def _page(node_id: object) -> str:
    return detail("peer", node_id).replace("change/", "do/ask-again/")


def test_pardon_is_confirmed_stored_and_logged(admin_client: Client) -> None:
    offered = admin_client.get(detail("peer", BENCHED)).content.decode()
    assert f'href="{_page(BENCHED)}"' in offered
    asked = admin_client.get(_page(BENCHED)).content.decode()
    assert "Unbench this peer?" in asked
    assert ">C-Chain</span>" in asked

    told = admin_client.post(_page(BENCHED), follow=True).content.decode()

    assert "gets requests again on all chains. It was benched on 2 chains." in told
    assert f'href="{detail("peer", BENCHED)}">Peer</a>' in told
    assert list(Peer.objects.filter(pardoned_at__isnull=False)) == [Peer.objects.get(pk=BENCHED)]
    entry = LogEntry.objects.get()
    assert (entry.object_id, str(BENCHED) in entry.object_repr) == (str(BENCHED), True)
    assert "gets requests again" in entry.change_message


def test_pardon_of_an_unbenched_peer_is_refused(admin_client: Client) -> None:
    assert "it is not benched" in admin_client.get(_page(ASKED)).content.decode()
    told = admin_client.post(_page(ASKED), follow=True).content.decode()
    assert "The action was refused: it is not benched" in told
    assert not LogEntry.objects.exists()


def test_pardon_without_network_process_is_refused(admin_client: Client) -> None:
    network_rows.report(heartbeat_at=ago(60))
    told = admin_client.post(_page(BENCHED), follow=True).content.decode()
    assert "The action was refused: the network process has not reported" in told
    assert not LogEntry.objects.exists()
