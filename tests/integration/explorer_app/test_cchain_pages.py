"""Pages of the C-Chain: their content, without a login, in a bounded number of statements."""

import re
from http import HTTPStatus
from unittest.mock import Mock

import pytest
from django.test import Client

from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.forking.errors import UpstreamAway, UpstreamReason
from cchain_app.selectors import tracing
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.services import transactions
from cchain_app.services.calls import index_calls
from cchain_app.store.history import StatePruned
from explorer_app.selectors import staking, traces
from explorer_app.selectors.cchain import PAGE
from explorer_app.services.tokens import index_tokens
from nodeproject.apps import this_node
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.blobs import ZERO_HASH, sent_blobs
from tests.builders.bytecode import assemble, deploy_code
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, TracedChain, hexed
from tests.integration.conftest import Chain
from tests.integration.explorer_app.token_chain import NOW
from tests.integration.platform_app.conftest import PChain

OF_NAMES = 8
"""Statements for the names of all contracts on a page."""
MAX_STATEMENTS = 16 + OF_NAMES


def checked(address: bytes) -> str:
    return str(checksum_address(address))


def test_front_page_shows_heads_and_latest_blocks_and_transactions(
    made: TracedChain, browse: Browse
) -> None:
    browse("/")  # the validators are cached from then on
    page = browse("/")

    assert page.status == HTTPStatus.OK
    assert 'href="/block/3" data-head>3<' in page.text
    assert made.hash("deploy") in page.text
    assert "Validators" in page.text
    assert "Contract creation" in page.text
    assert len(page.chain_statements) <= 20 + OF_NAMES
    assert page.slow_plans() == []


def test_a_chart_of_the_front_page_has_axes_and_a_figure_for_each_point(
    made: TracedChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = staking.validators(this_node().platform_chain)[0]
    observed = [own._replace(uptime=0.5), own._replace(uptime=0.25, node="NodeID-other")]
    monkeypatch.setattr(staking, "validators", lambda _: observed)
    text = client.get("/").content.decode()
    charts = dict(
        re.findall(r'<section class="card"><h2>([^<]+)</h2>(.*?)</section>', text, re.DOTALL)
    )

    for title, part in charts.items():
        if "axes" not in part:
            continue
        top, bottom, first, last = re.findall(r"<span>([^<]*)</span>", part)
        points = re.findall(r"<title>([^<]+)</title>", part)
        assert (bottom, bool(top)) == ("0", True)
        assert any(point.endswith(top) for point in points), title
        if title in {"Transactions per block", "Gas used", "Base fee"}:
            assert (first, last) == ("#0", "#3")
            assert [point.partition(":")[0] for point in points] == [
                f"Block {number}" for number in range(4)
            ]
    assert "<title>NodeID-other: 25.0 %</title>" in charts["Uptime by stake"]
    assert sum("axes" in part for part in charts.values()) == 5


def test_policy_allows_own_scripts_only(made: TracedChain, browse: Browse) -> None:
    policy = browse("/").response["Content-Security-Policy"]

    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_pages_are_read_and_never_written(made: TracedChain, client) -> None:
    assert client.head("/blocks").status_code == HTTPStatus.OK
    for path in ("/blocks", "/tx/" + made.hash("transfer"), "/connect"):
        assert client.post(path).status_code == HTTPStatus.METHOD_NOT_ALLOWED


@pytest.mark.parametrize("path", ["/blocks", "/txs", "/block/2", "/connect"])
def test_list_takes_few_statements(made: TracedChain, browse: Browse, path: str) -> None:
    page = browse(path)

    assert page.status == HTTPStatus.OK
    assert len(page.chain_statements) <= 6 + OF_NAMES
    assert page.slow_plans() == []


@pytest.mark.parametrize(
    "path",
    [
        "/block/4", "/block/99999999999999999999", "/block/x", "/block/0x" + "ab" * 32, "/block/-1",
        "/tx/0x" + "ab" * 32, "/tx/nothing", "/tx/0xzz", "/address/0x1", "/address/nobody",
        "/address/0x" + "ab" * 20 + "?tab=nothing", "/address/0x" + "ab" * 20 + "?show=nothing",
    ],
)  # fmt: skip
def test_unknown_object_is_not_found(made: TracedChain, client, path: str) -> None:
    assert client.get(path).status_code == HTTPStatus.NOT_FOUND


def test_a_block_is_found_by_height_and_by_hash(made: TracedChain, browse: Browse) -> None:
    assert made.block is not None
    by_number, by_hash = browse("/block/2"), browse("/block/" + hexed(made.block.hash))

    assert by_number.text == by_hash.text
    for text in (
        hexed(made.block.hash),
        hexed(made.block.header.parent_hash),
        made.hash("transfer"),
    ):
        assert text in by_number.text


def test_full_last_page_has_no_next_link(chain: Chain, browse: Browse) -> None:
    chain.send(*(chain.make() for _ in range(PAGE)))
    chain.mine()

    for path in ("/txs", "/block/1"):
        page = browse(path)
        assert page.status == HTTPStatus.OK
        assert 'rel="next"' not in page.text

    chain.do()
    (older,) = re.findall(r'href="([^"]*)" rel="next"', browse("/txs").text)
    assert 'rel="next"' not in browse(f"/txs{older}").text


def test_a_list_continues_with_older_rows(made: TracedChain, browse: Browse) -> None:
    for _ in range(PAGE):
        made.chain.mine()
    first = browse("/blocks")
    second = browse("/blocks", before=4)

    assert f"before={3 + 1}" in first.text
    assert "Newest" not in first.text
    assert "/block/3" in second.text
    assert "Newest" in second.text
    assert "Older" not in second.text


@pytest.mark.parametrize("before", ["x", "-1", "", "9" * 40])
def test_list_is_shown_for_any_before_parameter(made: TracedChain, client, before: str) -> None:
    for path in ("/blocks", "/txs", "/block/2", f"/address/{hexed(SENDER)}", "/p/blocks", "/p/txs"):
        assert client.get(path, {"before": before}).status_code == HTTPStatus.OK


def test_a_transaction_has_a_one_sentence_description(made: TracedChain, browse: Browse) -> None:
    index_tokens(made.chain.evm, seconds=60, now=NOW)
    page = browse("/tx/" + made.hash("transfer"))

    assert f"{checked(SENDER)[:6]}…" in page.text
    assert "0.000000000000000005 AVAX" in page.text
    assert "succeeded" in page.text
    assert len(page.chain_statements) <= MAX_STATEMENTS
    assert page.slow_plans() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("revert", "reverted with reason string &#x27;no&#x27;"),
        ("out_of_gas", "out of gas"),
    ],
)
def test_a_failed_transaction_shows_its_reason(
    made: TracedChain, browse: Browse, name: str, words: str
) -> None:
    text = browse("/tx/" + made.hash(name)).text

    assert "failed" in text
    assert words in text


def test_a_failed_inner_call_shows_its_reason(made: TracedChain, browse: Browse) -> None:
    page = browse("/tx/" + made.hash("inner_revert"))
    calls = browse("/tx/" + made.hash("inner_revert"), tab="calls").text

    assert "succeeded" in page.text
    assert "reverted with reason string &#x27;no&#x27;" in calls
    assert checked(ADDRESSES["reverter"]) in calls


def test_calls_are_a_tree_with_moved_amounts(made: TracedChain, browse: Browse) -> None:
    text = browse("/tx/" + made.hash("pay_and_destroy"), tab="calls").text

    assert 'class="d1"' in text
    assert "SELFDESTRUCT" in text
    assert checked(CREATED) in text


def test_reverted_transfers_are_not_counted(made: TracedChain, browse: Browse) -> None:
    pays_and_fails = assemble("0 0 0 0 3", int.from_bytes(RECIPIENT), "GAS CALL 0 0 REVERT")
    code = deploy_code(pays_and_fails)
    failing = bytecode.created(SENDER, made.chain.nonce)
    made.chain.do(to=None, data=code, gas=300_000, value=0)
    delegated = made.chain.make(
        to=ADDRESSES["delegator"],
        data=bytecode.words(ADDRESSES["counter"]),
        value=7_000,
        gas=200_000,
    )
    undone = made.chain.make(to=failing, value=7_000, gas=200_000)
    made.chain.send(delegated, undone)
    made.chain.mine()

    once = browse("/tx/" + hexed(delegated.hash), tab="calls").text
    never = browse("/tx/" + hexed(undone.hash), tab="calls").text

    assert "DELEGATECALL" in once
    table, _, tree = once.partition("<h2>Calls</h2>")
    assert table.count('title="7,000 wei"') == tree.count('title="7,000 wei"') == 1
    assert 'title="3 wei"' in never
    assert "Value transfers" not in never


def test_transaction_that_cannot_be_replayed_shows_the_reason(
    made: TracedChain, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/tx/" + made.hash("revert")
    for error, words in (
        (StatePruned(1, bytes(32)), "was deleted"),
        (TraceTimedOut(), "than the time limit of the page"),
        (TraceDiffers(made.sent["revert"].hash, "gas"), "cannot be executed again"),
    ):
        monkeypatch.setattr(tracing, "trace_transaction", Mock(side_effect=error))
        assert words in browse(path).text
        assert words in browse(path, tab="state").text
    away = UpstreamAway(UpstreamReason.NO_ANSWER, host="a.test", problem="no connection")
    monkeypatch.setattr(tracing, "trace_transaction", Mock(side_effect=away))
    page = browse(path)
    assert (page.status, page.response["Retry-After"]) == (HTTPStatus.SERVICE_UNAVAILABLE, "1")
    assert "a.test does not answer" in page.text


def test_strangers_cannot_have_all_threads_execute_transactions(
    made: TracedChain, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = this_node().explorer
    monkeypatch.setattr(traces, "PATIENCE", 0.01)
    with site.executing, site.executing:
        busy = browse("/tx/" + made.hash("count"), tab="calls").text
        failed = browse("/tx/" + made.hash("revert")).text

    assert "Try again in a moment" in busy
    assert "Try again in a moment" in failed
    assert "try again" not in browse("/tx/" + made.hash("count"), tab="calls").text


def test_state_changes_are_before_and_after(made: TracedChain, browse: Browse) -> None:
    text = browse("/tx/" + made.hash("count"), tab="state").text

    assert checked(ADDRESSES["counter"]) in text
    assert '<span class="hex">0</span>' in text
    assert "0x" + "00" * 32 in text
    assert "0x" + "00" * 31 + "01" in text


def test_raw_envelope_is_shown(made: TracedChain, browse: Browse) -> None:
    text = browse("/tx/" + made.hash("transfer"), tab="raw").text

    assert hexed(made.sent["transfer"].raw) in text


def test_pending_transaction_page_shows_why_it_waits(made: TracedChain, browse: Browse) -> None:
    waiting = made.chain.make(to=RECIPIENT, value=1)
    made.chain.nonce += 1
    queued = made.chain.make(to=RECIPIENT, value=2)
    made.chain.send(waiting, queued)

    assert "in the mempool" in browse("/tx/" + hexed(queued.hash)).text
    pool = browse("/pool").text
    assert "will be in the next block" in pool
    assert (
        f"is queued behind a missing transaction of the sender with a nonce below {queued.nonce}"
        in pool
    )


def test_address_page_shows_sent_and_received_transactions(
    made: TracedChain, browse: Browse
) -> None:
    sender = browse(f"/address/{hexed(SENDER)}")
    received = browse(f"/address/{checked(RECIPIENT)}", show="received").text

    assert ">out<" in sender.text
    assert ">in<" not in sender.text
    assert made.hash("transfer") in received
    assert ">in<" in received
    assert made.hash("count") not in received
    assert len(sender.chain_statements) <= MAX_STATEMENTS
    assert sender.slow_plans() == []


def test_unused_address_has_a_page(made: TracedChain, browse: Browse) -> None:
    text = browse("/address/0x" + "ab" * 20).text

    assert "Account" in text
    assert "None." in text


def test_an_address_shows_the_coins_of_the_same_bytes_on_the_p_chain(
    made: TracedChain, browse: Browse
) -> None:
    page = browse("/address/0x3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c")  # of the local genesis

    assert page.status == HTTPStatus.OK
    assert re.search(r'On the P-Chain</dt>.*title="[1-9][0-9,]* smallest units"', page.text)


def test_contract_created_by_a_factory_names_its_creator(made: TracedChain, browse: Browse) -> None:
    made.chain.do(to=ADDRESSES["factory"], value=0, data=made.sent["create"].data, gas=200_000)
    index_calls(made.chain.evm, seconds=60)
    page = browse(f"/address/{hexed(CREATED)}")

    assert "Contract" in page.text
    assert checked(ADDRESSES["factory"]) in page.text
    assert "sent by" in page.text
    assert len(page.chain_statements) <= MAX_STATEMENTS


def test_an_address_without_tokens_shows_an_empty_list(made: TracedChain, browse: Browse) -> None:
    index_tokens(made.chain.evm, seconds=60, now=NOW)
    page = browse(f"/address/{checked(RECIPIENT)}", tab="tokens")

    assert "No token transfers." in page.text
    assert page.slow_plans() == []


def test_inner_calls_of_an_address_are_listed(made: TracedChain, browse: Browse) -> None:
    index_calls(made.chain.evm, seconds=60)
    page = browse(f"/address/{checked(RECIPIENT)}", tab="inner")

    assert made.hash("pay_and_destroy") in page.text
    assert "SELFDESTRUCT" in page.text
    assert page.slow_plans() == []


def test_contract_page_shows_events_code_and_storage(made: TracedChain, browse: Browse) -> None:
    events = browse(f"/address/{checked(ADDRESSES['logger'])}", tab="events")
    contract = browse(f"/address/{checked(ADDRESSES['counter'])}", tab="contract")

    assert made.hash("logs") in events.text
    assert events.slow_plans() == []
    assert "bytes</span>" in contract.text
    assert '<td class="hex">0</td>' in contract.text


@pytest.mark.node_settings(chains=("P",))
def test_c_chain_pages_without_the_c_chain_are_not_found(pchain: PChain, client) -> None:
    for path in ("/blocks", "/txs", "/pool", "/block/0", "/address/0x" + "ab" * 20):
        assert client.get(path).status_code == HTTPStatus.NOT_FOUND
    front = client.get("/").content.decode()
    assert "P-Chain block" in front
    assert "C-Chain" not in front


def test_pages_before_genesis_explain_it(db: None, node_settings: object, client) -> None:
    page = client.get("/blocks")

    assert page.status_code in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}
    front = client.get("/")
    assert front.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert b"no genesis yet" in front.content


def test_local_network_shows_public_keys(pchain: PChain, chain: Chain, browse: Browse) -> None:
    text = browse("/connect").text

    assert "0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027" in text
    assert "PrivateKey-" in text
    for client in ("curl", "ethers", "viem", "web3.py", "cast"):
        assert client in text


def test_the_explorer_leads_to_the_admin_and_back(
    made: TracedChain, browse: Browse, admin_client: Client
) -> None:
    assert made.block is not None
    for path, name in (
        ("/tx/" + made.hash("transfer"), made.hash("transfer")),
        ("/block/2", hexed(made.block.hash)),
        (f"/address/{hexed(RECIPIENT)}", hexed(RECIPIENT)),
    ):
        assert f'href="/admin/jump/?q={name}"' in browse(path).text
        row = admin_client.get("/admin/jump/", {"q": name}, follow=True)
        assert f'href="/search?q={name}"' in row.content.decode()
        back = admin_client.get("/search", {"q": name})
        assert back.status_code == HTTPStatus.FOUND
        assert back["Location"].lower().endswith(name)


def test_failed_creation_shows_no_contract(made: TracedChain, browse: Browse) -> None:
    would_be = checked(bytecode.created(SENDER, made.chain.nonce))
    failed = made.chain.make(to=None, data=assemble("0 0 REVERT"), gas=100_000, value=0)
    inside = made.chain.make(
        to=ADDRESSES["factory"], value=0, gas=200_000,
        data=bytecode.words(8) + assemble("0 0 REVERT"),
    )  # fmt: skip
    made.chain.send(failed, inside)
    made.chain.mine()
    path = "/tx/" + hexed(failed.hash)

    overview = browse(path).text
    assert "new contract (not created)" in overview
    assert "<dt>Created</dt>" not in overview
    for page in (path, f"{path}?tab=calls", "/txs", "/", f"/address/{hexed(SENDER)}"):
        assert would_be not in browse(page).text
    assert "new contract (not created)" in browse("/txs").text
    assert hexed(failed.hash) not in browse(f"/address/{would_be}").text
    in_the_factory = browse(f"/tx/{hexed(inside.hash)}", tab="calls").text
    nothing = bytecode.created2(ADDRESSES["factory"], 8, assemble("0 0 REVERT"))
    assert "CREATE2" in in_the_factory
    assert checked(nothing) not in in_the_factory


def test_amounts_are_exact_on_pages_and_nonzero_in_lists(made: TracedChain, browse: Browse) -> None:
    value = 10**18 + 1
    to = "0x" + "c1" * 20
    sent = made.chain.make(to=bytes.fromhex(to[2:]), value=value)
    made.chain.send(sent)
    made.chain.mine()
    more = made.chain.make(to=bytes.fromhex(to[2:]), value=1)
    made.chain.send(more)
    made.chain.mine()

    exact = ">1.000000000000000001 AVAX<"
    assert browse("/tx/" + hexed(sent.hash)).text.count(exact) == 2
    assert exact in browse(f"/tx/{hexed(more.hash)}", tab="state").text
    assert ">1.000000000000000002 AVAX<" in browse(f"/tx/{hexed(more.hash)}", tab="state").text
    assert ">1.000000000000000002 AVAX<" in browse(f"/address/{to}").text
    assert "1.000000000000000001" not in browse("/txs").text


@pytest.mark.node_settings(coin_symbol="GOLD", coin_name="Golden")
def test_configured_coin_symbol_is_on_every_page(made: TracedChain, browse: Browse) -> None:
    paths = ["/txs", "/tx/" + made.hash("transfer"), f"/address/{hexed(SENDER)}", "/p/txs"]
    for path in [*paths, "/p/validators", "/p/supply", "/pool", "/connect"]:
        page = browse(path)
        assert "AVAX" not in page.text
        assert "Avalanche" not in page.text
        if path != "/pool":  # which is empty
            assert "GOLD" in page.text, path
    assert 'data-coin="Golden"' in browse("/connect").text


def test_blob_transaction_page_shows_blobs_and_cost(chain: Chain, browse: Browse) -> None:
    made = sent_blobs(2)
    assert transactions.submit(chain.runtime, [made.raw]) == [made.transaction.hash]
    path = "/tx/" + hexed(made.transaction.hash)
    assert hexed(made.transaction.hash) in browse(path).text  # pending
    chain.mine()

    page = browse(path)

    assert "blob (3)" in page.text
    assert page.text.count(f'data-copy="{hexed(ZERO_HASH)}"') == 2
    for text in (
        "<dt>Blobs</dt>",
        "262,144</span> blob gas",
        'title="1 wei"',
        'title="262,144 wei"',
    ):
        assert text in page.text
