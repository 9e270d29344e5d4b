"""Accepted data is read-only in the admin, even for a superuser."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from adminkit.loading import load_admins
from adminkit.read_only import ReadOnlyModelAdmin
from cchain_app import models
from cchain_app.models import Contract, ContractCreation
from tests.builders import rows
from tests.integration.cchain_app.admin.paths import CCHAIN, MODELS, detail, hexed, listing

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("chain")]

KEYS: dict[str, Any] = {
    "block": 7,
    "transaction": models.row_id(7, 4),
    "log": models.row_id(7, 1),
    "call": models.row_id(7, 1),
    "contractcreation": models.row_id(7, 1),
    "account": hexed(rows.TOKEN),
    "accountchange": models.row_id(7, 1),
    "contract": hexed(rows.TOKEN),
    "pooltransaction": hexed(rows.waiting_hash(3)),
    "developmentchange": models.row_id(7, 0),
    "snapshot": 7,
    "createdaccount": 7,
    "impersonation": rows.FIRST_IMPERSONATION,
    "impersonatedsignature": 7,
    "forkedaccount": hexed(rows.TOKEN),
    "forkedslot": hexed(rows.TOKEN + bytes(32)),
    "blob": "60",
    "forkedhash": 7,
}

TABLES = (
    models.Block,
    models.Transaction,
    models.Receipt,
    models.Log,
    models.Call,
    models.Account,
    models.AccountChange,
    models.PoolTransaction,
    models.DevelopmentChange,
    models.Snapshot,
    models.Impersonation,
    models.ImpersonatedSignature,
    models.CreatedAccount,
    models.ForkedAccount,
    models.ForkedSlot,
    models.ForkedHash,
    models.Blob,
)


def _counts() -> list[int]:
    return [table.objects.count() for table in TABLES]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_rows_cannot_be_added(admin_client: Client, model: str, method: str) -> None:
    before = _counts()
    assert getattr(admin_client, method)(f"{CCHAIN}{model}/add/").status_code == 403
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_rows_cannot_be_deleted(admin_client: Client, model: str, method: str) -> None:
    before = _counts()
    path = f"{CCHAIN}{model}/{KEYS[model]}/delete/"
    assert getattr(admin_client, method)(path, {"post": "yes"}).status_code == 403
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_rows_cannot_be_changed(admin_client: Client, model: str) -> None:
    assert admin_client.get(detail(model, KEYS[model])).status_code == 200
    before = _counts()
    assert admin_client.post(detail(model, KEYS[model]), {"nonce": 1}).status_code == 403
    assert _counts() == before
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("model", MODELS)
def test_a_list_has_no_actions_and_takes_none(admin_client: Client, model: str) -> None:
    answer = admin_client.get(listing(model))
    assert answer.context["cl"].model_admin.get_actions(answer.wsgi_request) == {}
    before = _counts()
    chosen = {"action": "delete_selected", "_selected_action": [KEYS[model]], "post": "yes"}
    admin_client.post(listing(model), chosen)
    assert _counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_a_page_has_no_field_and_no_button_to_send(admin_client: Client, model: str) -> None:
    text = admin_client.get(detail(model, KEYS[model])).content.decode()
    form = text[text.index(f'id="{model}_form"') :]
    form = form[: form.index("</form>")]
    assert "<select" not in form
    assert "<textarea" not in form
    assert form.count("<input") == 1  # the CSRF token
    assert 'type="submit"' not in form


def test_every_model_of_the_chain_in_the_admin_is_read_only() -> None:
    load_admins()
    ours = [
        model_admin
        for model, model_admin in admin.site._registry.items()
        if model._meta.app_label == "cchain_app"
    ]
    assert {model_admin.model for model_admin in ours} == {
        models.Block,
        models.Transaction,
        models.Log,
        models.Account,
        models.AccountChange,
        models.PoolTransaction,
        models.DevelopmentChange,
        models.DevelopmentSettings,
        models.Impersonation,
        models.ImpersonatedSignature,
        models.CreatedAccount,
        models.Snapshot,
        models.ForkedAccount,
        models.ForkedSlot,
        models.ForkedHash,
        models.AtomicTransaction,
        models.AtomicPoolTransaction,
        models.DroppedAtomicTransaction,
        models.Blob,
        models.SubnetChain,
        models.Call,
        models.Blob,
        models.SubnetChain,
        Contract,
        ContractCreation,
    }
    assert all(isinstance(model_admin, ReadOnlyModelAdmin) for model_admin in ours)


def test_staff_sees_permitted_models_only(client: Client) -> None:
    staff = User.objects.create_user("reader", is_staff=True)
    staff.user_permissions.add(
        Permission.objects.get(codename="view_block", content_type__app_label="cchain_app")
    )
    client.force_login(staff)
    assert client.get(listing("block")).status_code == 200
    assert client.get(listing("transaction")).status_code == 403
    assert client.get(detail("transaction", KEYS["transaction"])).status_code == 403


def test_anonymous_requests_redirect_to_the_login(client: Client) -> None:
    for path in ("/admin/", listing("block"), detail("block", 7), "/admin/jump/?q=7"):
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/admin/login/")
