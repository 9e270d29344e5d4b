"""Rows of the network process are read-only in the admin, and nothing secret is shown."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client

from adminkit.loading import load_admins
from adminkit.read_only import ReadOnlyModelAdmin
from network_app import models
from tests.integration.network_app.admin.paths import ADMIN, KEYS, MODELS, NETWORK, detail, listing

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("network")]


def _counts() -> list[int]:
    shown: tuple[Any, ...] = (
        models.Peer, models.ChainSync, models.OuterBlock, models.NetworkStatus,
    )  # fmt: skip
    return [model.objects.count() for model in shown]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_rows_cannot_be_added_or_deleted(admin_client: Client, model: str, method: str) -> None:
    before = _counts()
    for path in (f"{NETWORK}{model}/add/", f"{NETWORK}{model}/{KEYS[model]}/delete/"):
        assert getattr(admin_client, method)(path, {"post": "yes"}).status_code == 403
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_rows_cannot_be_changed(admin_client: Client, model: str) -> None:
    path = detail(model, KEYS[model])
    page = admin_client.get(path)
    assert page.status_code == 200
    form = page.content.decode().split(f'id="{model}_form"')[1].split("</form>")[0]
    assert form.count("<input") == 1  # the CSRF token
    assert 'type="submit"' not in form
    assert admin_client.post(path, {"version": "x"}).status_code == 403


def test_every_model_of_the_network_in_the_admin_is_read_only() -> None:
    load_admins()
    ours = {
        model: model_admin
        for model, model_admin in admin.site._registry.items()
        if model._meta.app_label == "network_app"
    }
    # Certificates are shown with the blocks that they signed, and pending blocks only as a number.
    # The consensus state of all chains is on one page: `test_consensus`.
    assert {model._meta.model_name for model in ours} == {*MODELS, "chainconsensus"}
    assert all(isinstance(model_admin, ReadOnlyModelAdmin) for model_admin in ours.values())


def test_staff_sees_permitted_models_only(client: Client) -> None:
    staff = User.objects.create_user("reader", is_staff=True)
    allowed = Permission.objects.get(codename="view_peer", content_type__app_label="network_app")
    staff.user_permissions.add(allowed)
    client.force_login(staff)
    assert client.get(listing("peer")).status_code == 200
    assert client.get(listing("outerblock")).status_code == 403
    assert client.get(detail("chainsync", "C")).status_code == 403


def test_anonymous_requests_redirect_to_the_login(client: Client) -> None:
    for path in (listing("peer"), detail("networkstatus", 1)):
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("model", MODELS)
def test_no_page_has_a_private_key(admin_client: Client, model: str, settings: Any) -> None:
    texts = [
        admin_client.get(path).content.decode()
        for path in (ADMIN, listing(model), detail(model, KEYS[model]))
    ]
    for secret in ("PRIVATE KEY", settings.SECRET_KEY, settings.NODE.staking_key_path.name):
        assert not any(secret in text for text in texts)
