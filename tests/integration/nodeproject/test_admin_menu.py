"""The admin's menu and index leave out lists that the node's settings leave empty; their pages still explain why."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory

from tests.builders.node_settings import updated
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain

ALWAYS = ("cchain_app/block", "cchain_app/account", "platform_app/tx", "auth/user")


@pytest.fixture
def mined(pchain: PChain, chain: Chain) -> Chain:
    """Both chains; the C-Chain has a block."""
    chain.mine()
    return chain


@pytest.fixture
def set_node(settings: Any, node_settings: Any) -> Callable[..., None]:
    """Change the node's settings."""

    def change(**changes: Any) -> None:
        settings.NODE = updated(node_settings, **changes)

    return change


def menu(client: Client) -> str:
    """Return the admin's first page, which contains the menu."""
    page = client.get("/admin/")
    assert page.status_code == HTTPStatus.OK
    return page.content.decode()


def link(name: str) -> str:
    return f'href="/admin/{name}/"'


@pytest.mark.node_settings(profile="embedded")
def test_a_local_chain_has_no_lists_of_forks_and_votes(
    pchain: PChain, chain: Chain, admin_client: Client
) -> None:
    chain.mine()
    text = menu(admin_client)

    for name in (*ALWAYS, "cchain_app/developmentsettings", "cchain_app/call", "explorer_app/token", "network_app/peer", "platform_app/keystoreuser"):  # fmt: skip
        assert link(name) in text
    for name in ("cchain_app/forkedaccount", "cchain_app/forkedslot", "network_app/blockdecision"):  # fmt: skip
        assert link(name) not in text
    page = admin_client.get("/admin/cchain_app/forkedaccount/")
    assert page.status_code == HTTPStatus.OK
    assert b"This chain is not a fork" in page.content


@pytest.mark.node_settings(profile="embedded")
@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"trace_index": "off"}, ("cchain_app/call", "cchain_app/contractcreation")),
        ({"token_index": "off"}, ("explorer_app/token", "explorer_app/tokentransfer", "explorer_app/tokenbalance")),
        ({"keystore_users": 0}, ("platform_app/keystoreuser",)),
        ({"network": False}, ("network_app/peer", "network_app/outerblock", "network_app/networkstatus")),
        ({"development": False}, ("cchain_app/blob", "cchain_app/developmentsettings", "cchain_app/snapshot", "cchain_app/impersonation")),
    ],
)  # fmt: skip
def test_menu_omits_lists_that_settings_leave_empty(
    mined: Chain,
    admin_client: Client,
    set_node: Callable[..., None],
    changes: dict[str, Any],
    names: tuple[str, ...],
) -> None:
    before = menu(admin_client)
    set_node(**changes)
    after = menu(admin_client)

    for name in names:
        assert link(name) in before
        assert link(name) not in after
        assert admin_client.get(f"/admin/{name}/").status_code == HTTPStatus.OK
    for name in ALWAYS:
        assert link(name) in after


def test_app_index_omits_lists_that_settings_leave_empty(
    pchain: PChain, chain: Chain, admin_user: Any, rf: RequestFactory
) -> None:
    request = rf.get("/admin/")
    request.user = admin_user
    listed = {model["object_name"] for app in admin.site.get_app_list(request) for model in app["models"]}  # fmt: skip

    assert "Block" in listed
    assert not {"ForkedAccount", "ForkedHash", "BlockDecision"} & listed
