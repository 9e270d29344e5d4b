"""Pages of the X-Chain and of moves between chains, in a bounded number of statements."""

import csv
from dataclasses import replace
from http import HTTPStatus

import pytest
from django.test import Client

from nodeproject.apps import this_node
from primitives.ids import ID
from tests.integration.admin_pages import Browse, Page, browser
from tests.integration.explorer_app.x_history import (
    EWOQ,
    OTHER,
    XHistory,
    x_address,
    x_history,
)
from tests.integration.platform_app.conftest import PChain, nothing_remembered

__all__ = ["nothing_remembered"]

MAX_STATEMENTS = 16


@pytest.fixture
def browse(client: Client) -> Browse:
    """Open pages; query plans of the chains' single-row tables are not checked."""
    return browser(client, r"(?:cchain|platform|explorer|xchain|shared)_app(?!_(?:x)?chain\b)")


@pytest.fixture
def history(pchain: PChain) -> XHistory:
    return x_history(pchain)


def shown(browse: Browse, path: str, **parameters: str) -> Page:
    page = browse(path, **parameters)
    assert page.status == HTTPStatus.OK, path
    assert len(page.chain_statements) <= MAX_STATEMENTS, path
    return page


def test_transactions_have_a_description(browse: Browse, history: XHistory) -> None:
    other = x_address(OTHER)
    words = {
        history.gold: "Creates the asset Gold of the Alps (GLD) with 1,000 GLD for 1 holder and the right to mint more",
        history.huts: "Creates the asset Huts (HUT) with rights to mint collectibles of 1 group",
        history.sent: f"Sends 301 GLD to {other}",
        history.minted: f"Mints 50 GLD for {other}",
        history.piece: f"Mints 1 collectible of HUT, group 0 for {x_address(EWOQ)}",
        history.given: f"Gives a collectible of HUT, group 0, to {other}",
        history.exported: "Exports 3 AVAX to the P-Chain",
        history.imported: "Imports 5 AVAX from the P-Chain",
    }
    for tx_id, sentence in words.items():
        page = shown(browse, f"/x/tx/{tx_id}")
        assert sentence.replace("AVAX", this_node().settings.common.coin_symbol) in page.text
        assert page.slow_plans() == []
    assert "for the &lt;b&gt;roof&lt;/b&gt;" in shown(browse, f"/x/tx/{history.sent}").text


def test_lists_blocks_and_their_files(browse: Browse, client: Client, history: XHistory) -> None:
    tip = this_node().avm_chain.tip()
    for path in ("/x/blocks", "/x/txs", "/x/assets", f"/x/block/{tip.height}", "/x/block/0"):
        page = shown(browse, path)
        assert page.slow_plans() == []
    assert f"/x/tx/{history.imported}" in shown(browse, f"/x/block/{tip.block_id}").text
    front = browse("/").text
    assert f'href="/x/block/{tip.height}"' in front
    assert f'href="/x/tx/{history.imported}"' in front
    rows = list(csv.reader(client.get("/x/txs.csv").content.decode().splitlines()))
    assert rows[1][:3] == [str(history.imported), "ImportTx", str(tip.height)]
    assert rows[1][4] == "P"
    assert len(client.get("/x/blocks.csv").content.splitlines()) == tip.height + 2


def test_both_ends_of_a_move_are_linked(browse: Browse, history: XHistory) -> None:
    on_p = shown(browse, f"/p/tx/{history.from_p}").text
    assert "from P-Chain to X-Chain" in on_p
    assert f'href="/x/tx/{history.imported}"' in on_p
    assert ">imported<" in on_p
    assert "to the X-Chain" in on_p
    on_x = shown(browse, f"/x/tx/{history.imported}").text
    assert "from P-Chain to X-Chain" in on_x
    assert f'href="/p/tx/{history.from_p}"' in on_x
    waiting = shown(browse, f"/x/tx/{history.exported}").text
    assert "waits for an import" in waiting
    assert ">exported<" in waiting


def test_address_page_shows_coins_transactions_outputs_and_imports(
    browse: Browse, history: XHistory
) -> None:
    page = shown(browse, f"/x/address/{x_address(OTHER)}")
    assert page.slow_plans() == []
    assert "351" in page.text
    assert f"/x/asset/{history.gold}" in page.text
    assert f"/x/tx/{history.given}" in page.text
    outputs = shown(browse, f"/x/address/{x_address(OTHER)}", tab="outputs").text
    assert "Collectible" in outputs
    assert "&lt;img src=https://example.org/hut.png&gt;" in outputs
    for path in (f"/x/address/{x_address(EWOQ)}", f"/p/address/{EWOQ}"):
        waits = shown(browse, path).text
        assert "Waiting between chains" in waits
        assert f'href="/x/tx/{history.exported}"' in waits


def test_an_asset_shows_holders_rights_and_collectibles(browse: Browse, history: XHistory) -> None:
    gold = shown(browse, f"/x/asset/{history.gold}")
    assert gold.slow_plans() == []
    assert ">1,050<" in gold.text  # the supply
    assert gold.text.index("699") < gold.text.index("351")  # the largest holder first
    assert "Right to mint coins" in gold.text
    huts = shown(browse, f"/x/asset/{history.huts}").text
    assert "&lt;img src=https://example.org/hut.png&gt;" in huts
    assert "<img src=https" not in huts
    coin = shown(browse, f"/x/asset/{this_node().avm_chain.stored().fee_asset_id}").text
    assert "coin of the network" in coin


def test_the_search_finds_items_of_the_x_chain(browse: Browse, history: XHistory) -> None:
    address = x_address(OTHER)
    tip = this_node().avm_chain.tip()
    for text, page in {
        str(history.gold): f"/x/asset/{history.gold}",
        str(history.sent): f"/x/tx/{history.sent}",
        str(tip.block_id): f"/x/block/{tip.block_id}",
        address: f"/x/address/{address}",
    }.items():
        assert browse("/search", q=text).response["Location"] == page
    named = browse("/search", q="gld")
    assert named.status == HTTPStatus.OK
    assert f"/x/asset/{history.gold}" in named.text
    assert f"/x/block/{tip.height}" in browse("/search", q=str(tip.height)).text + str(
        browse("/search", q=str(tip.height)).response.headers
    )


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    "path",
    ["block/999", "block/x", f"tx/{ID(bytes(31) + b'1')}", "tx/0", "address/nobody", "asset/x"],
)
def test_missing_items_are_not_found(client: Client, path: str) -> None:
    assert client.get(f"/x/{path}").status_code == HTTPStatus.NOT_FOUND


def test_a_node_without_an_x_chain_has_no_pages_of_it(
    client: Client, pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = this_node().explorer
    monkeypatch.setattr(site, "node", replace(site.node, chains=("P", "C")))
    response = client.get("/x/txs")
    assert response.status_code == HTTPStatus.NOT_FOUND
    assert "does not run the X-Chain" in response.content.decode()
    assert ">X-Chain</a>" not in client.get("/p/txs").content.decode()
