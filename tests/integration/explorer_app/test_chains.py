"""The explorer's pages of a subnet's chain: their URLs, rows and links are this chain's, and the C-Chain's stay."""

import json
import re
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_script_prefix

from cchain_app.chain import EvmChain
from cchain_app.services.calls import wait_for_calls
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from chaindb import wakeup
from explorer_app import tasks
from explorer_app.api.urls import of_every_chain as of_programs
from explorer_app.selectors import chains, l1
from explorer_app.services import verification
from explorer_app.site import OF_EVERY_CHAIN, VERIFY
from explorer_app.urls import of_every_chain
from nodeproject.apps import this_node
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode, puppet
from tests.builders.compilers import RecordedCompilers
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.conformance.explorer_samples import Sample
from tests.integration.explorer_app.contracts.conftest import FORM, PASSED, Explored, urlencoded
from tests.integration.explorer_app.token_chain import NOBODY, erc20
from tests.integration.nodeproject.test_subnet_chains import CHAIN_ID, World, world
from tests.integration.nodeproject.test_third_chain import mine, send
from tests.integration.platform_app.conftest import PChain, shared_pchain

__all__ = ["shared_pchain", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",), subnet_coins=("dex=DEX",)),
]
SQLITE = pytest.mark.sqlite_only
"""For tests in which it does not matter where the rows are: the schema of a chain takes seconds to make."""
TOKEN = bytecode.created(SENDER, 0)
C_ID = 43_112


class Dex:
    """A subnet's chain with a token in its first block and a transfer of it in the second."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.blockchain_id = world.create()
        self.chain: EvmChain = world.chain(self.blockchain_id)
        answers = puppet.of_erc20()
        self.deployed = self.do(0, to=None, data=puppet.deployed(answers), gas=4_000_000, value=0)
        self.moved = self.do(1, to=TOKEN, data=erc20(NOBODY, RECIPIENT, 100), gas=500_000, value=0)

    def do(self, nonce: int, **changes: Any) -> str:
        """Mine a transaction in a block of its own; return its hash."""
        given = unsigned(chain_id=CHAIN_ID, nonce=nonce, **changes)
        raw = decode_transaction(sign_transaction(given, KEY), CHAIN_ID).raw
        sent: str = send(self.world.node, self.chain.name, f"0x{raw.hex()}")
        mine(self.world.node, self.chain.name)
        return sent


@pytest.fixture
def dex(world: World) -> Dex:
    return Dex(world)


def text_of(client: Client, path: str, status: int = HTTPStatus.OK) -> str:
    answer = client.get(path)
    assert answer.status_code == status, (path, answer.content[:300])
    return answer.content.decode()


def links(text: str) -> set[str]:
    """Return the paths that a page's main part links to."""
    main = text.partition('<main id="main"')[2].partition("</main>")[0]
    return {link.partition("?")[0] for link in re.findall(r'href="(/[^"]*)"', main)}


def test_each_page_of_a_chain_has_a_url_of_its_own() -> None:
    names = {pattern.name for pattern in (*of_every_chain, *of_programs)}
    assert names | {"front"} == OF_EVERY_CHAIN


def test_pages_show_rows_of_the_chain_and_link_to_its_pages(dex: Dex, client: Client) -> None:
    base, token = "/chain/dex", str(checksum_address(TOKEN))
    front = text_of(client, base)
    assert "<h1><bdi>dex</bdi>" in front
    assert "dex block" in front
    assert dex.moved in front
    assert "Latest P-Chain transactions" not in front
    assert f'data-rpc="/ext/bc/dex" data-pages="{base}"' in front
    assert "/ext/bc/C" not in front

    pages = {
        "/blocks": "Blocks <small><bdi>dex</bdi>",
        "/block/2": dex.moved,
        "/txs": "Transactions <small><bdi>dex</bdi>",
        f"/tx/{dex.moved}": "Token transfers",
        f"/tx/{dex.moved}?tab=calls": "CALL",
        f"/tx/{dex.moved}?tab=state": "State changes",
        f"/address/0x{SENDER.hex()}": "DEX",
        f"/address/{token}?tab=contract": f"{base}/api</code>",
        f"/address/{token}/write": "known",
        "/tokens": token,
        f"/token/{token}": dex.moved[:8],
        f"/token/{token}?tab=holders": "Holder",
        "/accounts": str(checksum_address(SENDER)),
        "/contracts": f"{base}/api",
        "/charts": "Fees burned, DEX",
        "/gas": "A transfer of coins costs <small>DEX",
        "/pool": "Mempool",
        "/connect": f"http://testserver{base}</code>",
        "/connect?": "Private key",
        "/search?q=nothing%20here": "Nothing found",
    }
    for path, words in pages.items():
        status = HTTPStatus.NOT_FOUND if path.startswith("/search") else HTTPStatus.OK
        page = text_of(client, base + path, status)
        assert words in page, path
        assert "AVAX" not in page, path
        others = {link for link in links(page) if not link.startswith((base, "/p/", "/ext/"))}
        assert others == set(), path
    platform, head = dex.world.node.platform_chain, dex.chain.memory.blocks.head
    assert head is not None
    if chains.are_asked_together(platform):
        found = chains.heads(platform, [dex.world.node.evm_chain, dex.chain])
        assert found == {dex.chain.name: head.hash}
    assert chains.with_verifications(platform, [dex.chain]) == set()
    assert text_of(client, "/tokens").find(token) < 0, "the C-Chain has no such token"
    text_of(client, f"/tx/{dex.moved}", HTTPStatus.NOT_FOUND)
    text_of(client, f"{base}/address/0x{SENDER.hex()}?tab=imports", HTTPStatus.NOT_FOUND)


@SQLITE
def test_files_and_figures_are_the_chains(dex: Dex, client: Client) -> None:
    assert text_of(client, "/chain/dex/txs.csv").splitlines()[0].count("DEX") == 2
    assert dex.moved in text_of(client, "/chain/dex/txs.csv")
    assert dex.moved in text_of(client, f"/chain/dex/address/0x{SENDER.hex()}/transactions.csv")
    assert len(text_of(client, "/blocks.csv").splitlines()) == 2, "the C-Chain has its genesis"
    text_of(client, "/chain/dex/charts")  # sums up the blocks
    assert set(json.loads(text_of(client, "/chain/dex/charts.json"))) == {
        "transactions", "accounts", "gas", "burned", "contracts",
    }  # fmt: skip
    assert json.loads(text_of(client, "/chain/dex/gas.json"))["used"][0] == [0, 1, 2]


@SQLITE
def test_the_head_has_a_switch(dex: Dex, client: Client) -> None:
    page = text_of(client, "/chain/dex/blocks")
    switch = page.partition('<details class="switch">')[2].partition("</details>")[0]
    assert re.findall(r'<a href="([^"]*)"( aria-current="true")?><bdi>([^<]*)</bdi> <small[^>]*>(\d+)', switch) == [
        ("/", "", "C-Chain", str(C_ID)), ("/chain/dex", ' aria-current="true"', "dex", str(CHAIN_ID)),
    ]  # fmt: skip
    assert "not run" not in switch
    here = connections["default"]
    with CaptureQueriesContext(here) as asked:
        text_of(client, "/no/such/page", HTTPStatus.NOT_FOUND)
    assert len(asked) == 0, "the switch needs no statement"
    with override_script_prefix("/node/"):
        assert 'href="/node/chain/dex"' in text_of(client, "/chain/dex/blocks")


@SQLITE
def test_chains_are_named_by_id_too_and_the_c_chain_needs_no_name(dex: Dex, client: Client) -> None:
    assert "Blocks <small><bdi>dex</bdi>" in text_of(client, f"/chain/{dex.blockchain_id}/blocks")
    for path, page in (
        ("/chain/C/blocks?before=9", "/blocks?before=9"),
        ("/chain/C", "/"),
        ("/chain/evm/block/0", "/block/0"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (HTTPStatus.FOUND, page)
    answer = client.get("/chain/dex/")
    assert (answer.status_code, answer["Location"]) == (301, "/chain/dex")
    for name in ("nothing", "x" * 5_000, "P"):
        page = text_of(client, f"/chain/{name}/blocks", HTTPStatus.NOT_FOUND)
        assert "runs no EVM chain with this name" in page


def test_a_name_that_no_chain_can_have_is_looked_up_nowhere(
    shared_pchain: PChain, client: Client
) -> None:
    for name in ("%00", "d%C3%A9x", "%22"):
        page = text_of(client, f"/chain/{name}/blocks", HTTPStatus.NOT_FOUND)
        assert "runs no EVM chain with this name" in page


@SQLITE
def test_a_chain_that_does_not_run_is_listed_with_the_reason(dex: Dex, client: Client) -> None:
    refused = dex.world.create(name="copy of dex")
    page = text_of(client, "/chains")
    assert f"chain ID {CHAIN_ID} is taken by {dex.blockchain_id}" in page
    assert page.index(">C-Chain<") < page.index(">dex<") < page.index("copy of dex")
    assert "1 does not run" in page
    assert '<td class="right">2</td>' in page, "the head of dex"
    assert "runs no EVM chain" not in text_of(
        client, f"/chain/{refused}/blocks", HTTPStatus.NOT_FOUND
    )
    assert "is taken by" in text_of(client, "/chain/copy%20of%20dex", HTTPStatus.NOT_FOUND)
    subnet = text_of(client, f"/p/subnet/{dex.world.subnet_id}")
    assert '<a href="/chain/dex">dex</a>' in subnet
    created = text_of(client, f"/p/tx/{dex.blockchain_id}")
    assert '<a href="/chain/dex">pages of the chain</a>' in created
    assert "pages of the chain" not in text_of(client, f"/p/tx/{refused}")


@SQLITE
def test_an_l1_names_its_manager_on_the_chain(
    dex: Dex, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(
        manager_address=TOKEN,
        manager_chain_id=dex.blockchain_id,
        conversion_id=dex.blockchain_id,
        height=1,
    )
    monkeypatch.setattr(l1, "conversion", lambda *_: found)
    monkeypatch.setattr(l1, "conversion_statement", lambda *_: None)
    page = text_of(client, f"/p/subnet/{dex.world.subnet_id}")
    manager = checksum_address(TOKEN)
    assert f'href="/chain/dex/address/{manager}">{manager}</a>' in page
    assert '<a href="/chain/dex"><bdi>dex</bdi></a>' in page


@SQLITE
def test_a_search_finds_blocks_and_transactions_of_other_chains(dex: Dex, client: Client) -> None:
    answer = client.get("/search", {"q": dex.moved})
    assert answer["Location"] == f"/chain/dex/tx/{dex.moved}"
    answer = client.get("/chain/dex/search", {"q": dex.moved})
    assert answer["Location"] == f"/chain/dex/tx/{dex.moved}"
    assert client.get("/search", {"q": str(dex.blockchain_id)})["Location"] == "/chain/dex"
    named = text_of(client, "/search?q=DE")
    assert 'href="/chain/dex"' in named
    assert str(dex.blockchain_id) in named
    suggested = text_of(client, "/chain/dex/suggest?q=2")
    assert 'href="/chain/dex/block/2"' in suggested
    assert 'href="/chain/dex/token/' in text_of(client, "/chain/dex/tokens")


def asked(client: Client, path: str, **params: str) -> Any:
    return json.loads(text_of(client, f"{path}?{'&'.join(f'{k}={v}' for k, v in params.items())}"))


@SQLITE
def test_programs_select_the_chain_by_its_chain_id(dex: Dex, client: Client) -> None:
    sender = {"module": "account", "action": "txlist", "address": f"0x{SENDER.hex()}"}
    for path, params in (
        ("/chain/dex/api", {}),
        ("/chain/dex/api", {"chainid": str(CHAIN_ID)}),
        ("/api", {"chainid": str(CHAIN_ID)}),
        ("/v2/api", {"chainid": str(CHAIN_ID)}),
    ):
        rows = asked(client, path, **sender, **params)["result"]
        assert [row["hash"] for row in rows] == [dex.deployed, dex.moved], path
    assert asked(client, "/v2/api", **sender, chainid=str(C_ID))["result"] == []
    number = {"module": "proxy", "action": "eth_blockNumber"}
    assert asked(client, "/v2/api", **number, chainid=str(CHAIN_ID))["result"] == "0x2"
    for path, wrong in (("/v2/api", "77"), ("/chain/dex/api", str(C_ID))):
        assert asked(client, path, **number, chainid=wrong)["status"] == "0"
    listed = asked(client, "/v2/chainlist")["result"]
    assert [(row["chainid"], row["blockexplorer"]) for row in listed] == [
        (str(C_ID), "http://testserver/"), (str(CHAIN_ID), "http://testserver/chain/dex"),
    ]  # fmt: skip
    assert client.get("/chain/nothing/api").status_code == HTTPStatus.NOT_FOUND


@SQLITE
def test_sourcify_selects_the_chain_by_its_chain_id(dex: Dex, client: Client) -> None:
    token = str(checksum_address(TOKEN))
    page = client.get(f"/repo-ui/{CHAIN_ID}/{token}")
    assert page["Location"] == f"/chain/dex/address/{token}?tab=contract"
    unverified = client.get(f"/v2/contract/{CHAIN_ID}/{token}")
    assert (unverified.status_code, unverified.json()["chainId"]) == (404, str(CHAIN_ID))
    assert client.get(f"/v2/contracts/{CHAIN_ID}").json() == {"results": []}
    assert client.get(f"/v2/contract/all-chains/{token}").json() == {"results": []}
    wrong = client.get(f"/v2/contract/77/{token}")
    assert wrong.json()["customCode"] == "unsupported_chain"


@SQLITE
def test_tasks_write_the_indexes_of_chains_with_new_blocks(dex: Dex) -> None:
    def count(table: str, chain: EvmChain) -> int:
        (number,) = chain.db.row(f"SELECT count(*) FROM explorer_app_{table}") or (0,)
        return int(number)

    site = this_node().explorer.of(dex.chain)
    wait_for_calls(dex.chain)  # the sums by day need them
    for _ in range(100):  # each call has a slice of time
        tasks.index_tokens()
        tasks.summarise()
        if len(site.done) == 2:
            break
    head = dex.chain.memory.blocks.head
    assert head is not None
    assert site.done == {"tokens": head.hash, "statistics": head.hash}
    assert count("tokentransfer", dex.chain) == 1
    assert count("dayfigures", dex.chain) > 0
    assert count("tokentransfer", dex.world.node.evm_chain) == 0
    with CaptureQueriesContext(connections[dex.chain.db.alias]) as asked_of:
        assert tasks.index_tokens() == {"blocks": 0}
    assert len(asked_of) <= 2, "an idle chain costs a look at its head"
    dex.do(2, to=RECIPIENT, value=1)
    assert tasks.index_tokens() == {"blocks": 1}
    assert tasks.verify("dex") == {"verifications": 0}


@SQLITE
def test_the_faucet_pays_where_its_account_is_rich(dex: Dex, client: Client) -> None:
    genesis = subnet_genesis(9_002, funded=RECIPIENT)
    poor = dex.world.create(genesis, "poor", subnet_id=dex.world.subnet())
    page = text_of(client, f"/chain/{poor}/faucet", HTTPStatus.NOT_FOUND)
    assert "no coins in the genesis of poor" in page
    assert "/chain/poor/faucet" not in text_of(client, "/chain/poor")
    path = "/chain/dex/faucet"
    assert path in text_of(client, "/chain/dex")
    answer = client.post(path, {"address": f"0x{RECIPIENT.hex()}"}, "application/json")
    assert answer.status_code == HTTPStatus.OK, answer.content
    assert answer.json()["chain"] == "dex"
    mine(dex.world.node, dex.chain.name)
    page = text_of(client, f"/chain/dex/tx/{answer.json()['transaction']}")
    assert "10 DEX" in page
    again = client.post(path, {"address": f"0x{RECIPIENT.hex()}"}, "application/json")
    assert again.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert client.post(path, {"address": "P-x"}).status_code == HTTPStatus.BAD_REQUEST


@SQLITE
def test_the_admin_shows_tokens_and_pages_of_the_chosen_chain(
    dex: Dex, admin_client: Client
) -> None:
    tasks.index_tokens()
    admin_client.get("/admin/", {"chain": "dex"})
    tokens = text_of(admin_client, "/admin/explorer_app/token/")
    assert str(checksum_address(TOKEN))[:8] in tokens
    page = text_of(admin_client, f"/admin/cchain_app/transaction/{dex.moved}/change/")
    assert f"/chain/dex/search?q={dex.moved}" in page
    assert "DEX" in page
    assert "AVAX" not in page


@SQLITE
@pytest.mark.node_settings(chains=("P", "X"))
def test_a_node_without_the_c_chain_shows_its_other_chains(dex: Dex, client: Client) -> None:
    assert "does not run the C-Chain" in text_of(client, "/blocks", HTTPStatus.NOT_FOUND)
    assert 'href="/chain/dex"' in text_of(client, "/")
    assert "Blocks <small><bdi>dex</bdi>" in text_of(client, "/chain/dex/blocks")
    number = {"module": "proxy", "action": "eth_blockNumber"}
    assert asked(client, "/api", **number, chainid=str(CHAIN_ID))["result"] == "0x2"
    assert asked(client, "/api", **number)["status"] == "0"


def test_settings_name_the_coins(shared_pchain: PChain, settings: Any) -> None:
    common = updated(settings.NODE, subnet_coins=("dex=DEX", "2Q=TWO")).common
    assert [common.coin_of(names) for names in (("2Q", "a"), ("x", "dex"), ("x",))] == [
        "TWO", "DEX", "COIN",
    ]  # fmt: skip


@SQLITE
def test_a_contract_of_the_chain_is_verified(
    dex: Dex, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = this_node().explorer
    monkeypatch.setattr(site, "compilers", RecordedCompilers())
    requested: list[dict[str, str]] = []

    class Signature:
        def __init__(self, task: str, kwargs: dict[str, str]) -> None:
            requested.append({"task": task, **kwargs})

        def apply_async(self, **_: object) -> None:
            """Start nothing: the test does the work."""

    monkeypatch.setattr(wakeup.task_app(), "signature", Signature)
    address = bytecode.created(SENDER, 2)
    (step,) = Sample("counter", {}).steps
    dex.do(2, to=None, data=bytes.fromhex(step["data"][2:]), gas=3_000_000, value=0)
    sample = Sample("counter", {step["name"]: address.hex()})
    form = Explored.form(None, sample)  # type: ignore[arg-type]  # it needs no chain
    sent = client.post("/chain/dex/api", urlencoded(form), FORM).json()
    assert (sent["status"], len(sent["result"])) == ("1", 32), sent
    assert requested == [{"task": VERIFY, "chain": dex.chain.name}]
    elsewhere = asked(client, "/api", module="contract", action="checkverifystatus", guid="1")
    assert elsewhere["result"] == "Unknown UID"
    assert verification.work(site, seconds=60) == 0, "the C-Chain has none"
    assert verification.work(site.of(dex.chain), seconds=60) == 1

    status = {"module": "contract", "action": "checkverifystatus", "guid": sent["result"]}
    assert asked(client, "/v2/api", **status, chainid=str(CHAIN_ID)) == PASSED
    assert client.get(f"/v2/verify/{sent['result']}").json()["contract"]["chainId"] == str(CHAIN_ID)
    checked = str(checksum_address(address))
    found = client.get(f"/v2/contract/all-chains/{checked}").json()["results"]
    assert [(row["chainId"], row["address"]) for row in found] == [(str(CHAIN_ID), checked)]
    query = {"addresses": checked, "chainIds": f"{C_ID},{CHAIN_ID}"}
    (old,) = client.get("/check-all-by-addresses", query).json()
    assert [row["chainId"] for row in old["chainIds"]] == [str(CHAIN_ID)]
    assert "Counter" in text_of(client, "/chain/dex/contracts")
    assert "No contract is verified yet" in text_of(client, "/contracts")
    assert "verified" in text_of(client, f"/chain/dex/address/{checked}?tab=contract")
    assert "increment" in text_of(client, f"/chain/dex/address/{checked}/write").lower()
