"""The explorer in a real browser, on a node with 12,000 transactions, tokens, a proxy, failures and stakers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account
from eth_utils import to_checksum_address

from primitives.keys import DEV_KEYS
from tests.e2e.chain_rows import check_rows
from tests.e2e.conftest import CHAIN_ID, CLIENTS, SCREENSHOTS, node_script
from tests.e2e.explorer_history import ROUNDS, STRANGER, History, make_history, page
from tests.e2e.platform_rows import check_platform_rows
from tests.e2e.transactions import Sender
from tests.e2e.visitor import Visitor
from tests.servers.node import Ask, RunningNode
from tests.servers.path_proxy import PathProxy

MANY = 12_000
"""Least number of transactions that pages and lists must handle."""
KEY = list(DEV_KEYS.values())[2]
"""The key of an account that has sent no transactions."""
TX = re.compile(r'href="/tx/(0x[0-9a-f]{64})"')
BLOCK = re.compile(r'<tr><td><a class="num" href="/block/(\d+)"')
OLDER = re.compile(r'<a href="\?([^"]+)" rel="next">Older</a>')


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """The node of this module, with a compiler; its rows are checked at the end."""
    env = {
        "NODE_SOLC_DIRECTORY": str(CLIENTS),
        "NODE_LOG_TRANSACTIONS": "off",
        "NODE_TRUSTED_PROXIES": "127.0.0.1",
    }
    with RunningNode(tmp_path_factory.mktemp("explorer"), env=env) as running:
        yield running.start()
        with running.database() as ask:
            check_rows(ask)
            check_platform_rows(ask)


@pytest.fixture(scope="module")
def history(node: RunningNode, contracts: dict[str, Any]) -> History:
    """The history of the node's chains."""
    made = make_history(node, contracts)
    assert made.sent >= MANY
    with node.database() as ask:
        assert ask("SELECT count(*) FROM cchain_app_transaction") == [(made.sent,)]
    return made


def base_of(node: RunningNode) -> str:
    return f"http://127.0.0.1:{node.port}"


def hexed(value: bytes) -> str:
    return "0x" + value.hex()


def test_every_page_in_a_browser(node: RunningNode, history: History) -> None:
    pages = pages_of(history)
    given = {"base": base_of(node), "pages": pages, "screenshots": SCREENSHOTS}
    with node.database() as ask:  # other tests send transactions too
        ((transactions,),) = ask("SELECT count(*) FROM cchain_app_transaction")
    found = node_script("run.mjs", "explorer", "look", json.dumps(given))

    assert found["faults"] == [], "\n".join(found["faults"])
    seen = found["seen"]
    menu = seen.pop("menu")
    assert menu["current"] == ["Validators"]
    assert {"Blocks", "Transactions", "Mempool", "P-Chain", "Connect"} <= {*menu["entries"]}
    assert len(seen) == 2 * len(pages)
    sent = f"{history.sent:,} sent"
    for screen in ("desk", "phone"):
        assert "called buy on Proxy (Market)" in seen[f"tx-{screen}"]
        assert "40 LRC" in seen[f"tx-{screen}"]
        assert "DELEGATECALL" in seen[f"tx-calls-{screen}"]
        assert "reverted with NotForSale hut 1" in seen[f"tx-failed-{screen}"]
        assert (
            "is queued behind a missing transaction of the sender with a nonce below"
            in seen[f"pool-{screen}"]
        )
        assert sent in seen[f"address-{screen}"]
        assert "Older" in seen[f"address-{screen}"]
        assert "Alpine Huts" in seen[f"tokens-{screen}"]
        assert f"Transfers {history.transfers:,}" in seen[f"token-20-{screen}"]
        assert "Market" in seen[f"contracts-{screen}"]
        assert "accounts have a balance" in seen[f"accounts-{screen}"]
        assert "Suggested fees" in seen[f"gas-{screen}"]
        assert f"{transactions:,}" in seen[f"charts-{screen}"]
        assert "Eight beds" in seen[f"token-item-{screen}"]


def pages_of(history: History) -> dict[str, str]:
    """Return the path of each page by the name of its screenshot."""
    call, busy = history.bought, f"/address/{hexed(history.busy)}"
    coin, huts, gear = (hexed(value) for value in (history.coin, history.huts, history.gear))
    proxy = f"/address/{hexed(history.proxy)}"
    return {
        "front": "/",
        "blocks": "/blocks",
        "block": f"/block/{ROUNDS}",
        "txs": "/txs",
        "tx": f"/tx/{call}",
        "tx-calls": f"/tx/{call}?tab=calls",
        "tx-state": f"/tx/{call}?tab=state",
        "tx-raw": f"/tx/{call}?tab=raw",
        "tx-failed": f"/tx/{history.failed}",
        "tx-waiting": f"/tx/{history.stuck}",
        "address": busy,
        "address-received": f"/address/{hexed(STRANGER)}?show=received",
        "address-tokens": f"{busy}?tab=tokens",
        "address-inner": f"{proxy}?tab=inner",
        "address-events": f"{proxy}?tab=events",
        "contract": f"/address/{hexed(history.market)}?tab=contract",
        "proxy": f"{proxy}?tab=contract",
        "pool": "/pool",
        "tokens": "/tokens",
        "token-20": f"/token/{coin}",
        "token-holders": f"/token/{coin}?tab=holders",
        "token-721": f"/token/{huts}?tab=inventory",
        "token-1155": f"/token/{gear}",
        "token-item": f"/token/{huts}/1",
        "p-txs": "/p/txs",
        "p-tx": f"/p/tx/{history.staking}",
        "p-blocks": "/p/blocks",
        "p-block": "/p/block/0",
        "p-address": f"/p/address/{history.staker}",
        "validators": "/p/validators",
        "validator": f"/p/validator/{history.validator}",
        "calendar": "/p/calendar",
        "supply": "/p/supply",
        "subnets": "/p/subnets",
        "subnet": f"/p/subnet/{history.subnet}",
        "contracts": "/contracts",
        "accounts": "/accounts",
        "gas": "/gas",
        "charts": "/charts",
        "connect": "/connect",
        "faucet": "/faucet",
        "search": "/search?q=0",
        "paths": "/ext/docs/paths",
    }


def test_charts_show_the_values_at_the_pointer_in_utc(node: RunningNode, history: History) -> None:
    given = {"base": base_of(node), "path": "/p/supply"}
    found = node_script("run.mjs", "explorer", "chart", json.dumps(given))

    assert found["faults"] == []
    tokyo, new_york = found["seen"]
    assert tokyo == new_york
    assert tokyo["labels"] == ["23:59:59\n1970-01-01", "00:00:00\n1970-01-02", "00:01:00", "00:00:00\n1970-01-03"]  # fmt: skip
    assert tokyo["days"] == ["1970-01-02"]
    assert tokyo["first"] != tokyo["last"]
    assert all("AVAX" in tokyo[name] for name in ("first", "last", "latest"))


def test_explorer_and_admin_share_the_theme(node: RunningNode, history: History) -> None:
    given = {
        "base": base_of(node),
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
    }
    found = node_script("run.mjs", "explorer", "themes", json.dumps(given))

    assert found["faults"] == []
    assert found["seen"] == [[False] * 3, [True] * 3, [False] * 3]
    assert found["pressed"] == "true"


def test_admin_and_reference_are_accessible(node: RunningNode, history: History) -> None:
    pages = ("/ext/docs", "/admin/", "/admin/platform_app/validator/", "/admin/health_app/healthchange/", "/admin/cchain_app/transaction/")  # fmt: skip
    given = {
        "base": base_of(node),
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
        "pages": pages,
    }
    assert node_script("run.mjs", "admin", "accessible", json.dumps(given))["faults"] == []


def test_lists_can_be_paged_to_their_ends(node: RunningNode, history: History) -> None:
    """Lists of thousands of entries are complete to the end and contain no duplicates."""
    busy, coin = hexed(history.busy), hexed(history.coin)
    with node.database() as ask:
        blocks = [str(number) for number in column(ask, "SELECT number FROM cchain_app_block ORDER BY number DESC")]  # fmt: skip
        keys = column(ask, "SELECT id FROM cchain_app_transaction ORDER BY id")
        hashes = [hexed(other) for other in column(ask, "SELECT hash FROM cchain_app_transaction ORDER BY id DESC")]  # fmt: skip
        moved = [hexed(item) for item in column(ask, MOVED.format(coin=history.coin.hex()))]

    assert walk(node, "blocks", BLOCK) == blocks
    assert walk(node, f"txs?before={keys[110]}", TX) == hashes[-110:]
    assert walk(node, f"address/{busy}?before={keys[110]}", TX) == hashes[-110:]
    middle = page(node, f"address/{busy}?before={keys[MANY // 2]}")
    assert TX.findall(middle) == hashes[-(MANY // 2) :][:25]
    assert walk(node, f"token/{coin}", TX) == moved


MOVED = (
    "SELECT t.hash FROM cchain_app_log AS l JOIN cchain_app_transaction AS t ON t.id = l.transaction_id"
    " WHERE l.address = x'{coin}' AND l.topic0 = x'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'"
    " ORDER BY l.id DESC"
)


def column(ask: Ask, statement: str) -> list[Any]:
    return [one for (one,) in ask(statement)]


def walk(node: RunningNode, path: str, line: re.Pattern[str]) -> list[str]:
    """Return the link targets of a list's rows, on this page and on all older pages."""
    text = page(node, path)
    found = line.findall(text)
    while older := OLDER.search(text):
        text = page(node, f"{path.partition('?')[0]}?{older.group(1).replace('&amp;', '&')}")
        assert line.search(text), f"nothing on {older.group(1)} of {path}"
        found += line.findall(text)
    return found


@pytest.fixture(scope="module")
def proxy(node: RunningNode) -> Iterator[PathProxy]:
    """A reverse proxy that serves the node below a path."""
    with PathProxy(node.port, "/chains/node") as running:
        yield running
        assert running.outside == [], "paths that pages name, and that lead out of the proxy's"


def test_heads_tick_and_search_leads_on(history: History, proxy: PathProxy) -> None:
    base = proxy.base
    sender = Sender(Account.from_key(KEY), CHAIN_ID)
    live = {"base": base, "raw": sender.transfer(to_checksum_address(STRANGER), 7)}
    ticked = node_script("run.mjs", "explorer", "live", json.dumps(live))
    search = {"base": base, "typed": history.validator[:14], "whole": ticked["hash"]}
    led = node_script("run.mjs", "explorer", "search", json.dumps(search))
    plain = {"base": base, "path": f"/tx/{ticked['hash']}"}
    read = node_script("run.mjs", "explorer", "withoutScripts", json.dumps(plain))

    assert [value["faults"] for value in (ticked, led, read)] == [[], [], []]
    assert ticked["after"] > ticked["before"]
    assert led["suggested"] == f"{proxy.path}/p/validator/{history.validator}"
    assert led["found"] == f"{proxy.path}/tx/{ticked['hash']}"
    assert "0.000000000000000007 AVAX" in read["text"]


def test_pages_are_turned_and_the_faucet_gives(node: RunningNode, history: History) -> None:
    given = {
        "base": base_of(node),
        "list": f"/address/{hexed(history.busy)}",
        "thirsty": "0x" + "5a" * 20,
    }
    found = node_script("run.mjs", "explorer", "turnAndTake", json.dumps(given))

    assert found["faults"] == []
    first, second, third, again = found["lists"]
    assert len({*first, *second, *third}) == 3 * 25
    assert again == first
    assert "AVAX to" in found["given"]
    assert (
        int(node.rpc("eth_getBalance", given["thirsty"], "latest"), 16) == found["coins"] * 10**18
    )


def test_the_chain_is_added_to_the_wallets_of_the_browser(
    node: RunningNode, history: History
) -> None:
    base = base_of(node)
    found = node_script("run.mjs", "explorer", "connect", json.dumps({"base": base}))

    assert found["faults"] == []
    assert found["without"].startswith("No wallet was found in this browser.")
    assert found["copied"] == [f"{base}/ext/bc/C/rpc", f"cast block-number --rpc-url {base}"]
    assert found["names"] == ["Add to Willing", "Add to Unwilling", "Add to Foreign"]
    assert found["icons"] == ["data:image", "data:image"]
    assert found["said"] == [
        "The chain was added to Willing.",
        "Unwilling did not add the chain: the user refused",
    ]
    chain = {
        "chainId": hex(CHAIN_ID),
        "chainName": "Nunatak local",
        "rpcUrls": [f"{base}/ext/bc/C/rpc"],
        "blockExplorerUrls": [base],
    }
    assert [request["method"] for request in found["asked"]] == ["wallet_addEthereumChain"] * 2
    (parameters,) = found["asked"][0]["params"]
    assert parameters.items() >= chain.items()
    assert parameters["nativeCurrency"]["symbol"] == "AVAX"


def test_all_links_are_below_the_base_path_of_a_proxy(
    node: RunningNode, history: History, proxy: PathProxy
) -> None:
    visitor = Visitor(proxy.base, proxy.path)
    visitor.log_in((node.directory / "data" / "admin_password").read_text().strip())
    start = [*pages_of(history).values(), "/nowhere", "/blocks/", *OTHER_PAGES]
    visitor.visit(start, most=len(start) + 150)

    assert visitor.wrong == []
    assert {path for _, path in visitor.cookies()} == {"/chains/node/"}
    chain = f"/repo-ui/{CHAIN_ID}/{hexed(history.market)}"
    assert visitor.get(chain).address.endswith(f"/address/{hexed(history.market)}?tab=contract")
    (listed,) = json.loads(visitor.get("/v2/chainlist").text)["result"]
    assert listed["blockexplorer"] == f"{proxy.base}/"
    assert listed["apiurl"] == f"{proxy.base}/v2/api?chainid={CHAIN_ID}"


OTHER_PAGES = (
    "/admin/", "/admin/snapshots/", "/admin/cchain_app/transaction/", "/admin/platform_app/tx/",
    "/admin/auth/user/add/", "/ext/docs", "/ext/docs/paths",
)  # fmt: skip


def test_the_admin_is_used_below_the_path_of_a_proxy(
    node: RunningNode, history: History, proxy: PathProxy
) -> None:
    given = {
        "base": proxy.base,
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
        "hash": history.bought,
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "findTransaction", json.dumps(given))

    assert found["faults"] == []
    assert found["rows"] == 1
    assert history.bought in found["transaction"]
