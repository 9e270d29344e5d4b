"""The admin's log entries have a list and a page each, which are read-only."""

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

LIST = "/admin/admin/logentry/"
PAUSED = "Paused the C-Chain's production of blocks."

pytestmark = pytest.mark.django_db


@pytest.fixture
def entries(admin_user: User) -> list[LogEntry]:
    """Entries about no row, about an existing row, about a deleted row, and one of another user."""
    users = ContentType.objects.get_for_model(User)
    other = User.objects.create_user("o'brien", is_staff=True)
    changed = '[{"changed": {"fields": ["Active"]}}]'
    return [
        LogEntry.objects.create(
            user=user,
            content_type=model,
            object_id=str(other.pk),
            object_repr=title,
            action_flag=flag,
            change_message=words,
        )
        for user, model, title, flag, words in (
            (admin_user, None, "production of the C-Chain", CHANGE, PAUSED),
            (admin_user, users, "o'brien", CHANGE, changed),
            (admin_user, users, "<gone>", DELETION, ""),
            (other, None, "health check X", CHANGE, "The check X-Chain was run again: it passes."),
        )
    ]


def _listed(client: Client, **asked: str) -> list[LogEntry]:
    return list(client.get(LIST, asked).context["cl"].result_list)


def test_list_shows_user_action_and_time(admin_client: Client, entries: list[LogEntry]) -> None:
    assert _listed(admin_client) == entries[::-1]
    text = admin_client.get(LIST).content.decode()
    for words in ("Paused the C-Chain&#x27;s production", "Changed Active.", "o&#x27;brien"):
        assert words in text
    assert "&lt;gone&gt;" in text
    assert "Deleted." in text
    page = f"/admin/auth/user/{entries[0].object_id}/change/"
    assert text.count(f'href="{page}"') == 1  # no link without a row, or to a deleted one
    assert f'title="{int(entries[0].action_time.timestamp())}"' in text
    page = admin_client.get(f"{LIST}{entries[0].pk}/change/").content.decode()
    assert "Paused the C-Chain&#x27;s production" in page


def test_entries_are_searched_by_user_name(admin_client: Client, entries: list[LogEntry]) -> None:
    assert _listed(admin_client, q=" o'brien ") == [entries[3]]
    assert _listed(admin_client, q="brien") == []


def test_number_of_statements_does_not_grow_with_entries(
    admin_client: Client, admin_user: User
) -> None:
    def write(count: int) -> None:
        LogEntry.objects.bulk_create(
            LogEntry(
                user=admin_user,
                content_type=ContentType.objects.get_for_model(User),
                object_id=str(admin_user.pk),
                object_repr=f"object {number}",
                action_flag=CHANGE,
            )
            for number in range(count)
        )

    def count() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert admin_client.get(LIST).status_code == 200
        return len(asked)

    write(1)
    count()  # fills Django's caches of the process
    before = count()
    write(30)
    assert count() == before


def test_entries_are_read_only(admin_client: Client, entries: list[LogEntry]) -> None:
    path = f"{LIST}{entries[0].pk}/"
    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{path}change/", {"change_message": "x"}).status_code == 403
    assert admin_client.post(f"{path}delete/", {"post": "yes"}).status_code == 403
    assert list(LogEntry.objects.order_by("id")) == entries
    entries[0].refresh_from_db()
    assert entries[0].change_message == PAUSED


def test_entries_need_the_view_permission(client: Client, entries: list[LogEntry]) -> None:
    other = entries[3].user
    client.force_login(other)
    assert client.get(LIST).status_code == 403
    assert LIST not in client.get("/admin/").content.decode()
    other.user_permissions.set(Permission.objects.filter(codename="view_logentry"))
    assert _listed(client) == entries[::-1]
    assert LIST in client.get("/admin/").content.decode()
