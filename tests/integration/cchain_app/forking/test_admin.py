"""Data that a fork has fetched, in the admin: as of the fork block, with its source, and without possible keys."""

from typing import Any

import pytest
from django.test import Client

from cchain_app.apps import evm_chain
from primitives.evm import Address
from tests.builders.node_settings import updated
from tests.integration.admin_pages import Browse, browser
from tests.integration.cchain_app.admin.paths import detail, listing
from tests.integration.cchain_app.forking.conftest import (
    COUNTER,
    COUNTER_CODE,
    PIN,
    RICH,
    ForkedChain,
)
from tests.integration.conftest import Rpc

pytestmark = pytest.mark.sqlite_only

NOBODY = "0x" + "99" * 20
SLOT = COUNTER + "00" * 32


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "cchain_app")


@pytest.fixture
def asked(forked: ForkedChain, rpc: Rpc) -> ForkedChain:
    """A fork that was asked for an account, a contract, two slots and an account that does not exist."""
    rpc("eth_getBalance", RICH, "latest")
    rpc("eth_getBalance", NOBODY, "latest")
    rpc("eth_call", {"to": COUNTER}, "latest")
    rpc("eth_getStorageAt", COUNTER, "0x5", "latest")
    return forked


def test_accounts_are_listed_as_they_were_at_the_pin(browse: Browse, asked: ForkedChain) -> None:
    page = browse(listing("forkedaccount"))
    assert len(page.chain_statements) == 1
    listed = {str(row.address) for row in page.rows}
    assert {RICH, NOBODY, COUNTER} <= listed
    told = asked.remote.url.removesuffix("/v2/s3cr3tk3y")
    assert f"According to {told} at block {PIN}." in page.text
    for shown in ("100 AVAX", "did not exist", "contract"):
        assert shown in page.text
    assert [str(row.address) for row in browse(listing("forkedaccount"), q=RICH).rows] == [RICH]


def test_forked_contract_shows_code_and_links_to_slots(browse: Browse, asked: ForkedChain) -> None:
    page = browse(detail("forkedaccount", COUNTER))
    assert len(page.chain_statements) == 2
    assert COUNTER_CODE in page.text
    for path in (
        f"{listing('forkedslot')}?q={COUNTER}",
        detail("account", COUNTER),
        detail("block", PIN),
    ):
        assert f'href="{path}"' in page.text
    assert "Code hash" not in browse(detail("forkedaccount", NOBODY)).text


def test_slots_are_found_by_their_account(browse: Browse, asked: ForkedChain) -> None:
    page = browse(listing("forkedslot"), q=COUNTER)
    assert [str(row.key)[-2:] for row in page.rows] == ["00", "05"]
    assert "not set" in page.text
    assert browse(listing("forkedslot"), q=RICH).rows == []


def test_forked_slot_shows_its_local_value(browse: Browse, asked: ForkedChain) -> None:
    assert "the same" in browse(detail("forkedslot", SLOT)).text
    to = Address(bytes.fromhex(COUNTER[2:]))
    asked.mine(asked.make(to=to, data=b"\x01", gas=100_000, value=0))
    page = browse(detail("forkedslot", SLOT))
    assert len(page.chain_statements) == 2
    assert "0x" + "00" * 31 + "07" in page.text
    assert "0x" + "00" * 31 + "08" in page.text


def test_forked_slot_emptied_locally_is_shown_as_unset(
    browse: Browse, asked: ForkedChain, rpc: Rpc
) -> None:
    rpc("anvil_setStorageAt", COUNTER, "0x0", "0x" + "00" * 32)
    assert "not set" in browse(detail("forkedslot", SLOT)).text


def test_no_page_shows_keys_of_the_upstream_url(
    browse: Browse, asked: ForkedChain, rpc: Rpc, admin_client: Client
) -> None:
    rpc("anvil_setCoinbase", RICH)
    rpc("anvil_setRpcUrl", f"http://user:pa55w0rd@127.0.0.1:1/v3/{'5ec7e7' * 4}?key=5ec7e7")
    settings = browse(detail("developmentsettings", 1)).text
    assert "http://127.0.0.1:1<" in settings
    assert f'href="{detail("block", PIN)}"' in settings
    for path in (
        "/admin/",
        listing("forkedaccount"),
        detail("forkedaccount", COUNTER),
        listing("forkedslot"),
        detail("forkedslot", SLOT),
        listing("developmentsettings"),
        detail("developmentsettings", 1),
    ):
        text = admin_client.get(path).content.decode()
        for secret in ("s3cr3tk3y", "5ec7e7", "pa55w0rd"):
            assert secret not in text, path


def test_fork_without_upstream_url_explains_it(
    browse: Browse, asked: ForkedChain, rpc: Rpc, settings: Any
) -> None:
    rpc("anvil_setCoinbase", RICH)
    settings.NODE = updated(settings.NODE, fork_url=())
    asked.restart()
    assert "none: NODE_FORK_URL is not set" in browse(detail("developmentsettings", 1)).text
    assert evm_chain().upstream is None


@pytest.mark.parametrize("model", ["forkedaccount", "forkedslot"])
def test_empty_fork_list_explains_when_rows_are_fetched(
    browse: Browse, forked: ForkedChain, model: str
) -> None:
    evm_chain().db.objects(browse(listing(model)).response.context["cl"].model).all().delete()
    assert "is fetched once, when a call" in browse(listing(model)).text
