"""Accepted data and the keystore are read-only in the admin, even for a superuser."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client

from adminkit.loading import load_admins
from adminkit.read_only import ReadOnlyModelAdmin
from platform_app import models
from shared_app import models as shared_models
from tests.integration.platform_app.admin.paths import MODELS, detail, export, listing
from tests.integration.platform_app.admin.shown import keys

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("history")]

SHOWN: set[type[Model]] = {
    models.Block,
    models.Tx,
    models.Validator,
    models.Delegator,
    models.Subnet,
    models.Blockchain,
    models.L1Conversion,
    models.L1Validator,
    models.UTXO,
    shared_models.SharedOutput,
    models.MempoolTx,
    models.DroppedTx,
    models.KeystoreUser,
}


def _counts() -> list[int]:
    return [model._default_manager.count() for model in sorted(SHOWN, key=lambda one: one.__name__)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_rows_cannot_be_added(admin_client: Client, model: str, method: str) -> None:
    before = _counts()
    assert getattr(admin_client, method)(f"{listing(model)}add/").status_code == 403
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_rows_cannot_be_deleted(admin_client: Client, model: str, method: str) -> None:
    before = _counts()
    path = f"{listing(model)}{keys()[model]}/delete/"
    assert getattr(admin_client, method)(path, {"post": "yes"}).status_code == 403
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_rows_cannot_be_changed(admin_client: Client, model: str) -> None:
    path = detail(model, keys()[model])
    assert admin_client.get(path).status_code == 200
    assert admin_client.post(path, {"name": "x", "phase": 3}).status_code == 403
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("model", MODELS)
def test_a_list_has_no_actions_and_takes_none(admin_client: Client, model: str) -> None:
    answer = admin_client.get(listing(model))
    assert answer.context["cl"].model_admin.get_actions(answer.wsgi_request) == {}
    before = _counts()
    chosen: dict[str, Any] = {"action": "delete_selected", "post": "yes"}
    admin_client.post(listing(model), {**chosen, "_selected_action": [keys()[model]]})
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_a_page_has_no_field_and_no_button_to_send(admin_client: Client, model: str) -> None:
    text = admin_client.get(detail(model, keys()[model])).content.decode()
    form = text[text.index(f'id="{model}_form"') :]
    form = form[: form.index("</form>")]
    assert "<select" not in form
    assert "<textarea" not in form
    assert form.count("<input") == 1  # the CSRF token
    assert 'type="submit"' not in form


def test_every_model_of_the_chain_in_the_admin_is_read_only() -> None:
    load_admins()
    ours = {
        model: model_admin
        for model, model_admin in admin.site._registry.items()
        if model._meta.app_label in {"platform_app", "shared_app"}
    }
    assert set(ours) == SHOWN
    assert all(isinstance(model_admin, ReadOnlyModelAdmin) for model_admin in ours.values())


def test_staff_sees_permitted_models_only(client: Client) -> None:
    staff = User.objects.create_user("reader", is_staff=True)
    allowed = Permission.objects.get(
        codename="view_delegator", content_type__app_label="platform_app"
    )
    staff.user_permissions.add(allowed)
    client.force_login(staff)
    assert client.get(listing("delegator")).status_code == 200
    assert client.get(listing("validator")).status_code == 403
    assert client.get(detail("validator", keys()["validator"])).status_code == 403
    assert client.get(export("validator")).status_code == 403


def test_anonymous_requests_redirect_to_the_login(client: Client) -> None:
    for path in (listing("block"), detail("block", 7), export("validator"), "/admin/jump/?q=7"):
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/admin/login/")
