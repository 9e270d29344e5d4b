"""The admin's page "Snapshots": permissions to view and to act, and confirmation of both kinds of data loss."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from nodeproject.apps import this_node
from nodeproject.copies.snapshots import NamedSnapshot
from tests.integration.nodeproject.snapshots import Scene

PAGE = "/admin/snapshots/"


def names() -> list[str]:
    return [
        snapshot.manifest.name
        for snapshot in this_node().snapshots.all()
        if isinstance(snapshot, NamedSnapshot)
    ]


def act(client: Client, action: str, name: str, **more: str) -> str:
    answer = client.post(PAGE, {"action": action, "name": name, **more}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_superuser_saves_restores_and_deletes(scene: Scene, admin_client: Client) -> None:
    assert "No snapshots yet." in admin_client.get(PAGE).content.decode()
    assert "Saved a. It has C-Chain block 0 and P-Chain block 0." in act(admin_client, "save", "a")
    scene.mine()
    page = admin_client.get(PAGE).content.decode()
    assert "<strong>a</strong>" in page
    assert 'href="/admin/snapshots/"' in admin_client.get("/admin/").content.decode()

    assert "Restore this snapshot?" in act(admin_client, "restore", "a")
    assert scene.head == 1
    assert "of that time, C-Chain block 0 and P-Chain block 0." in act(
        admin_client, "restore", "a", confirmed="yes"
    )
    assert scene.head == 0

    assert "Delete this snapshot?" in act(admin_client, "delete", "a")
    assert names() == ["a"]
    assert "Deleted a." in act(admin_client, "delete", "a", confirmed="yes")
    assert names() == []

    logged = LogEntry.objects.order_by("id").values_list("object_repr", "change_message")
    assert list(logged) == [
        ("snapshot a", "Saved as a snapshot."),
        ("snapshot a", "Restored the snapshot."),
        ("snapshot a", "Deleted the snapshot."),
    ]


def test_overwriting_a_name_needs_confirmation(scene: Scene, admin_client: Client) -> None:
    act(admin_client, "save", "a")
    scene.mine()
    assert "Overwrite this snapshot?" in act(admin_client, "save", "a")
    (kept,) = this_node().snapshots.all()
    assert isinstance(kept, NamedSnapshot)
    assert kept.manifest.cchain
    assert kept.manifest.cchain.height == 0
    assert "Saved a." in act(admin_client, "save", "a", confirmed="yes")
    (kept,) = this_node().snapshots.all()
    assert isinstance(kept, NamedSnapshot)
    assert kept.manifest.cchain
    assert kept.manifest.cchain.height == 1


def test_refusals_are_shown(scene: Scene, admin_client: Client) -> None:
    assert "is not a valid snapshot name" in act(admin_client, "save", "A b")
    assert "There is no snapshot b." in act(admin_client, "restore", "b", confirmed="yes")
    assert "There is no snapshot b." in act(admin_client, "delete", "b")
    act(admin_client, "paint", "b")
    assert not LogEntry.objects.exists()


def test_staff_can_view_but_not_act(scene: Scene, client: Client) -> None:
    this_node().snapshots.save("a")
    client.force_login(User.objects.create_user("staff", is_staff=True))
    page = client.get(PAGE).content.decode()
    assert "<strong>a</strong>" in page
    assert "Restore" not in page
    assert "Name of a new snapshot" not in page
    for action in ("save", "restore", "delete"):
        answer = client.post(PAGE, {"action": action, "name": "a", "confirmed": "yes"})
        assert answer.status_code == 403
    assert names() == ["a"]


def test_anonymous_requests_redirect_to_the_login(scene: Scene, client: Client) -> None:
    assert client.get(PAGE).status_code == 302
    assert client.post(PAGE, {"action": "save", "name": "a"}).status_code == 302
    assert names() == []


@pytest.mark.node_settings(network_id=5)
def test_public_network_has_no_snapshot_page(
    db: None, node_settings: Any, admin_client: Client
) -> None:
    assert admin_client.get(PAGE).status_code == 404
    assert PAGE not in admin_client.get("/admin/").content.decode()
