"""Users and periodic tasks in the admin: they use the theme's forms, and still work."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.test import Client, RequestFactory
from django.utils.module_loading import import_string
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from unfold.admin import ModelAdmin

from nodeproject.admin import site as node_admin
from nodeproject.settings.theme import UNFOLD

pytestmark = pytest.mark.sqlite_only

BEAT = "/admin/django_celery_beat/"


@pytest.mark.parametrize(
    "path",
    [
        "/admin/auth/",
        "/admin/auth/user/",
        "/admin/auth/user/add/",
        "/admin/auth/group/",
        "/admin/auth/group/add/",
        "/admin/password_change/",
        "/admin/cchain_app/",
        f"{BEAT}periodictask/",
        f"{BEAT}periodictask/add/",
        f"{BEAT}intervalschedule/add/",
        f"{BEAT}crontabschedule/add/",
        f"{BEAT}clockedschedule/add/",
        f"{BEAT}solarschedule/add/",
    ],
)
def test_the_page_is_there(admin_client: Client, path: str) -> None:
    assert admin_client.get(path).status_code == 200


@pytest.mark.parametrize(
    ("path", "goes_to"), [("", "/admin/"), ("?next=/admin/auth/user/", "/admin/auth/user/")]
)
def test_login_redirects_to_the_first_or_requested_page(
    client: Client, admin_user: User, path: str, goes_to: str
) -> None:
    page = client.get(f"/admin/login/{path}")
    field = f'<input type="hidden" name="next" value="{goes_to}">'
    assert field in page.content.decode()
    sent = {"username": "admin", "password": "password", "next": page.context["next"]}
    assert client.post("/admin/login/", sent).headers["Location"] == goes_to


@pytest.mark.parametrize("model", list(node_admin._THEMED))
def test_third_party_admins_use_the_theme(model: type) -> None:
    assert isinstance(node_admin.admin.site._registry[model], ModelAdmin)


def test_a_password_can_be_changed(admin_client: Client, admin_user: User) -> None:
    path = f"/admin/auth/user/{admin_user.pk}/password/"
    new = "a long enough one 77"
    answer = admin_client.post(
        path, {"password1": new, "password2": new, "usable_password": "true"}
    )
    assert answer.status_code == 302
    admin_user.refresh_from_db()
    assert admin_user.check_password(new)


def test_a_user_can_be_added_and_put_into_a_group(admin_client: Client) -> None:
    password = "a long enough one 77"
    admin_client.post(
        "/admin/auth/user/add/",
        {
            "username": "reader",
            "password1": password,
            "password2": password,
            "usable_password": "true",
        },
    )
    assert User.objects.get(username="reader").check_password(password)
    admin_client.post("/admin/auth/group/add/", {"name": "readers"})
    assert Group.objects.filter(name="readers").exists()


def test_a_task_can_be_scheduled(admin_client: Client) -> None:
    every = IntervalSchedule.objects.create(every=10, period=IntervalSchedule.SECONDS)
    sent = {
        "name": "expire", "regtask": "cchain_app.expire_pool", "enabled": "on",
        "interval": every.pk, "args": "[]", "kwargs": "{}", "headers": "{}",
    }  # fmt: skip
    answer = admin_client.post(f"{BEAT}periodictask/add/", sent)
    assert answer.status_code == 302
    task = PeriodicTask.objects.get(name="expire")
    assert task.task == "cchain_app.expire_pool"
    shown = admin_client.get(f"{BEAT}periodictask/{task.pk}/change/")
    assert shown.status_code == 200
    assert "cchain_app.produce_blocks" in shown.content.decode()


def test_the_label_on_top_names_the_network() -> None:
    assert node_admin.network_label(None) == ["local", "info"]


_EMPTY_HERE = {"Decisions", "Fetched accounts", "Fetched slots", "Fetched hashes"}
"""Items that are left out: nobody votes, and the chain is no fork."""
_MENU = [item for group in UNFOLD["SIDEBAR"]["navigation"] for item in group["items"]]


@pytest.mark.parametrize("item", _MENU, ids=lambda item: item["title"])
def test_menu_items_match_the_permissions_of_their_pages(
    admin_client: Client, admin_user: User, rf: RequestFactory, item: dict[str, Any]
) -> None:
    assert admin_client.get(str(item["link"])).status_code == 200
    request = rf.get("/")
    if may_view := item.get("permission"):
        may_view = import_string(may_view) if isinstance(may_view, str) else may_view
        request.user = admin_user
        assert may_view(request) is (item["title"] not in _EMPTY_HERE)
        request.user = AnonymousUser()
        assert not may_view(request)
