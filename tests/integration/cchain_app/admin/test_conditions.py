"""State set over RPC on a development chain, in the admin: next-block settings and impersonations."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from cchain_app.apps import evm_chain
from tests.builders.cchain import SENDERS
from tests.builders.node_settings import updated
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.admin.paths import ADMIN, detail, listing
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

STRANGER = "0x" + "57" * 20
RANDAO = "0x" + "ab" * 32
SETTINGS = detail("developmentsettings", 1)


@pytest.fixture
def chain(db: None, node_settings: Any) -> Chain:
    """A chain that makes real blocks, instead of the chain of generated rows."""
    return Chain()


def test_index_page_without_overrides_shows_no_panel(browse: Browse, chain: Chain) -> None:
    assert "<h3>Overrides</h3>" not in browse(ADMIN).text


def test_next_block_overrides_are_shown_until_the_block(
    browse: Browse, chain: Chain, rpc: Rpc
) -> None:
    time = chain.genesis.header.timestamp + 1_000
    rpc("evm_setNextBlockTimestamp", time)
    rpc("anvil_setNextBlockBaseFeePerGas", 7 * 10**9)
    rpc("hardhat_setPrevRandao", RANDAO)
    page = browse(listing("developmentsettings"))
    assert len(page.rows) == 1
    assert len(page.chain_statements) == 1
    assert f'title="{time}"' in page.text
    assert "7 Gwei" in page.text
    assert RANDAO in page.text
    rpc("evm_mine")
    text = browse(SETTINGS).text
    assert "7 Gwei" not in text
    assert RANDAO not in text


def test_overrides_of_all_blocks_remain_shown(browse: Browse, chain: Chain, rpc: Rpc) -> None:
    rpc("evm_setIntervalMining", 9)
    rpc("anvil_setBlockTimestampInterval", 12)
    rpc("anvil_setCoinbase", STRANGER)
    rpc("evm_setBlockGasLimit", 9_000_000)
    rpc("evm_mine")
    page = browse(SETTINGS)
    assert len(page.chain_statements) == 1
    for shown in ("interval", "9 s", "12 s", "9,000,000", f'href="{detail("account", STRANGER)}"'):
        assert shown in page.text
    assert "as NODE_MINING says" not in page.text


def test_unset_overrides_show_the_settings(browse: Browse, chain: Chain, rpc: Rpc) -> None:
    rpc("anvil_setCoinbase", STRANGER)
    text = browse(SETTINGS).text
    assert "as NODE_MINING says" in text
    assert "as NODE_BLOCK_INTERVAL says" in text
    assert "not set" in text
    assert "Fork of" not in text


def test_how_often_the_chain_was_rewound_is_counted(browse: Browse, chain: Chain, rpc: Rpc) -> None:
    moment = rpc("evm_snapshot")
    rpc("evm_mine")
    rpc("evm_revert", moment)
    assert ">once<" in browse(SETTINGS).text


def test_impersonated_accounts_are_shown_with_balances(
    browse: Browse, chain: Chain, rpc: Rpc
) -> None:
    keyed = f"0x{SENDERS[0].hex()}"
    rpc("anvil_impersonateAccount", STRANGER)
    rpc("anvil_impersonateAccount", keyed)
    rpc("anvil_autoImpersonateAccount", True)
    rpc("anvil_setBalance", STRANGER, hex(3 * 10**18))
    rpc("anvil_setCode", STRANGER, "0x00")
    page = browse(listing("impersonation"))
    assert len(page.rows) == 3
    assert len(page.chain_statements) == 3
    for shown in ("3 AVAX", "contract", "every account", "signs with its key"):
        assert shown in page.text
    assert f'href="{detail("account", STRANGER)}"' in page.text
    first, _, everybody = page.rows
    assert "3 AVAX" in browse(detail("impersonation", first.pk)).text
    assert "every account" in browse(detail("impersonation", everybody.pk)).text
    rpc("anvil_stopImpersonatingAccount", STRANGER)
    assert browse(listing("impersonation"), q=STRANGER).rows == []


def test_impersonated_signatures_are_shown_with_their_signer(
    browse: Browse, chain: Chain, rpc: Rpc
) -> None:
    signature = "0x" + "ab" * 64 + "1b"
    rpc("evm_mine")
    rpc("anvil_impersonateSignature", [signature, STRANGER])
    page = browse(listing("impersonatedsignature"))
    (row,) = page.rows
    assert (row.number, len(page.chain_statements)) == (2, 1)
    assert f'href="{detail("account", STRANGER)}"' in page.text
    shown = browse(detail("impersonatedsignature", row.pk)).text
    assert signature in shown
    assert f'href="{detail("account", STRANGER)}"' in shown


def test_created_accounts_are_shown_without_their_keys(
    browse: Browse, chain: Chain, rpc: Rpc
) -> None:
    made = rpc("personal_newAccount", "secret words")
    rpc("anvil_setBalance", made, hex(2 * 10**18))
    page = browse(listing("createdaccount"))
    assert [(row.number, str(row.address)) for row in page.rows] == [(10, made)]
    assert len(page.chain_statements) == 3
    assert "2 AVAX" in page.text
    assert "signs with its key" in page.text
    shown = browse(detail("createdaccount", 10)).text
    assert f'href="{detail("account", made)}"' in shown
    key = evm_chain().derivation.key(10).hex()
    for text in (page.text, shown):
        assert key not in text
        assert "secret words" not in text


def test_an_impersonated_account_that_does_not_exist_has_nothing(
    browse: Browse, chain: Chain, rpc: Rpc
) -> None:
    rpc("anvil_impersonateAccount", STRANGER)
    text = browse(listing("impersonation")).text
    assert '<span class="nd-amount" title="0 wei">0</span>' in text


@pytest.mark.parametrize(
    "model", ["developmentsettings", "impersonation", "impersonatedsignature", "createdaccount"]
)
def test_public_network_has_no_development_pages(
    browse: Browse, chain: Chain, rpc: Rpc, settings: Any, model: str
) -> None:
    rpc("anvil_setCoinbase", STRANGER)
    rpc("anvil_impersonateAccount", STRANGER)
    rpc("anvil_impersonateSignature", ["0x" + "ab" * 65, STRANGER])
    rpc("personal_newAccount")
    assert browse(listing(model)).rows != []
    settings.NODE = updated(settings.NODE, development=False)
    page = browse(listing(model))
    assert page.rows == []
    assert "This is not a development chain" in page.text


def test_the_settings_are_read_only(admin_client: Client, chain: Chain, rpc: Rpc) -> None:
    rpc("anvil_setCoinbase", STRANGER)
    assert admin_client.get(SETTINGS).status_code == 200
    assert admin_client.post(SETTINGS, {"coinbase": "0x" + "11" * 20}).status_code == 403
    assert admin_client.post(f"{listing('developmentsettings')}1/delete/").status_code == 403
    assert rpc("eth_coinbase") == STRANGER


def test_the_settings_are_not_searched(browse: Browse, chain: Chain, rpc: Rpc) -> None:
    rpc("anvil_setCoinbase", STRANGER)
    assert browse(listing("developmentsettings"), q=STRANGER).rows == []


SET: list[tuple[Callable[[Rpc], object], str]] = [
    (lambda rpc: rpc("anvil_setNextBlockBaseFeePerGas", 5), "1 value"),
    (lambda rpc: [rpc("anvil_setCoinbase", STRANGER), rpc("evm_setAutomine", False)], "2 values"),
]


@pytest.mark.parametrize(("change", "shown"), SET)
def test_index_page_shows_that_overrides_are_set(
    browse: Browse, chain: Chain, rpc: Rpc, change: Callable[[Rpc], object], shown: str
) -> None:
    change(rpc)
    text = browse(ADMIN).text
    assert "<h3>Overrides</h3>" in text
    assert f'href="{listing("developmentsettings")}">{shown}</a>' in text
