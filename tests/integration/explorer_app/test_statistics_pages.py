"""Pages of accounts by balance, charts by day, gas and verified contracts: their content and their statements."""

import re
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client

from cchain_app.models import Account
from explorer_app.models import VerifiedContract
from explorer_app.selectors import contract_list, fees, statistics
from explorer_app.selectors.contract_list import NamePlace
from explorer_app.tokens.strings import search_key
from tests.builders.node_settings import updated
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.traced_chain import TracedChain
from tests.integration.conftest import Chain, Rpc
from tests.integration.platform_app.conftest import PChain

ETHER = 10**18
ADDRESS = re.compile(r'href="/address/(0x[0-9a-fA-F]{40})"')
FURTHER = re.compile(r'href="([^"]*)" rel="next"')


def verified(number: int, name: str, **fields: Any) -> VerifiedContract:
    texts = dict.fromkeys(
        ("path", "input", "note", "abi", "metadata", "artifacts", "libraries", "immutables", "license"), ""
    )  # fmt: skip
    values = {
        **texts,
        "address": bytes([number]) * 20,
        "code_hash": bytes(32),
        "runtime_match": "exact_match",
        "name": name,
        "name_key": search_key(name),
        "language": "Solidity",
        "compiler": "0.8.30+commit.73712a01",
        "is_single_file": False,
        "verified_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
        **fields,
    }
    return VerifiedContract.objects.create(**values)


def listed(text: str) -> list[str]:
    """Return the addresses on a page, each once: a contract with a name has two links."""
    return list(dict.fromkeys(address.lower() for address in ADDRESS.findall(text)))


def test_accounts_are_listed_by_balance_over_pages(
    made: TracedChain, browse: Browse, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer_app.views.charts.PAGE", 3)
    browse("/accounts")  # writes the summaries
    page = browse("/accounts")
    assert page.status == HTTPStatus.OK
    assert page.slow_plans() == []
    assert len(page.chain_statements) <= 8
    found, ranks, path = listed(page.text), [], "/accounts"
    while (match := FURTHER.search(page.text)) is not None:
        page = browse(path + match[1].replace("&amp;", "&"))
        assert page.slow_plans() == []
        found += listed(page.text)
        ranks += [int(rank) for rank in re.findall(r'<td class="right num">(\d+)</td>', page.text)]

    richest = sorted(Account.objects.filter(balance__gt=0), key=lambda row: (row.balance, bytes(row.address)), reverse=True)  # fmt: skip
    assert found == [str(row.address) for row in richest]
    assert ranks == list(range(4, len(richest) + 1))
    supply = sum(row.balance for row in richest)
    assert f"{len(richest)} accounts have a balance" in browse("/accounts").text
    assert statistics.state_of_summaries(made.chain.evm).supply == supply


@pytest.mark.parametrize("after", ["x", "5-zz", "-", "5-00", "9" * 79 + "-" + "00" * 20, "5"])
def test_malformed_cursor_shows_the_first_page(
    pchain: PChain, chain: Chain, client: Client, after: str
) -> None:
    chain.mine()
    page = client.get("/accounts", {"after": after})

    assert page.status_code == HTTPStatus.OK
    assert b'<td class="right num">1</td>' in page.content


def test_page_after_a_block_shows_its_changes(pchain: PChain, chain: Chain, client: Client) -> None:
    new = bytes([0x77]) * 20
    chain.do(to=new, value=ETHER)

    assert f"0x{new.hex()}" in client.get("/accounts").content.decode().lower()


def test_figures_by_day_are_charted_and_listed(
    made: TracedChain, pchain: PChain, browse: Browse, client: Client
) -> None:
    chain = made.chain
    chain.now += 2 * 86_400
    chain.do(value=ETHER)
    browse("/charts")
    page = browse("/charts")

    assert page.status == HTTPStatus.OK
    assert page.slow_plans() == []
    assert len(page.chain_statements) <= 10
    for title in ("Transactions", "New accounts", "Gas used", "Fees burned, AVAX", "Contracts deployed", "Staked, AVAX"):  # fmt: skip
        assert f"<h2>{title}</h2>" in page.text
    day = datetime.fromtimestamp(chain.now, UTC).date().isoformat()
    assert f'<td class="num">{day}</td>' in page.text
    series = client.get("/charts.json").json()
    times, values = series["transactions"]
    assert times == sorted(times)
    assert {time % 86_400 for time in times} == {0}
    shown = dict(zip(times, values, strict=True))
    today = chain.now - chain.now % 86_400
    assert (shown[today], shown[today - 86_400]) == (1, 0)
    assert shown[today - 2 * 86_400] > 1
    assert series["stake"][1][-1] > 0
    for name in ("accounts", "gas", "burned", "contracts"):
        assert len(series[name][0]) == len(series[name][1]) == len(times)


def test_pages_without_statistics_explain_it(
    pchain: PChain, chain: Chain, client: Client, settings: Any, node_settings: Any
) -> None:
    settings.NODE = updated(node_settings, statistics="off")
    chain.mine()
    accounts, charts = client.get("/accounts"), client.get("/charts")

    assert accounts.status_code == HTTPStatus.NOT_FOUND
    assert b"NODE_STATISTICS is off" in accounts.content
    assert b"NODE_STATISTICS is off" in charts.content
    assert list(client.get("/charts.json").json()) == ["stake"]
    assert b'href="/accounts"' not in charts.content


def test_gas_shows_suggestions_and_the_latest_blocks(
    made: TracedChain, browse: Browse, rpc: Rpc, client: Client
) -> None:
    page = browse("/gas")

    assert page.status == HTTPStatus.OK
    assert page.slow_plans() == []
    assert len(page.chain_statements) <= 10
    for name in ("Slow", "Normal", "Fast"):
        assert f"<td>{name}</td>" in page.text
    history = rpc("eth_feeHistory", "0x4", "latest", [10, 50, 90])
    shown = fees.latest_fees(made.chain.evm)
    assert [block.fees.base_fee for block in shown] == [int(fee, 16) for fee in history["baseFeePerGas"][:-1]]  # fmt: skip
    assert [block.utilisation for block in shown] == history["gasUsedRatio"]
    tips = [tuple(int(tip, 16) for tip in of_block) for of_block in history["reward"]]
    assert [block.tips or (0, 0, 0) for block in shown] == tips
    figures = client.get("/gas.json").json()
    assert figures["used"] == [[0, 1, 2, 3], [100 * ratio for ratio in history["gasUsedRatio"]]]
    assert figures["median"][0] == [1, 2]


def test_verified_contracts_are_listed_the_latest_first(
    pchain: PChain, chain: Chain, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.mine()
    assert "No contract is verified yet" in browse("/contracts").text
    monkeypatch.setattr("explorer_app.views.contracts.PAGE", 2)
    for number, name in enumerate(("Vault", "Vault", "Counter", "<b>Valley"), 1):
        verified(number, name)
    verified(9, "Loose", runtime_match="match", creation_match=None)
    page = browse("/contracts")

    assert page.slow_plans() == []
    assert len(page.chain_statements) <= 2
    assert "&lt;b&gt;Valley" in page.text
    assert "equivalent" in page.text
    assert 'title="0.8.30+commit.73712a01">0.8.30<' in page.text
    found = listed(page.text)
    while (match := FURTHER.search(page.text)) is not None:
        page = browse("/contracts" + match[1])
        found += listed(page.text)
    assert found == [f"0x{bytes([number] * 20).hex()}" for number in (9, 4, 3, 2, 1)]


def test_verified_contracts_are_found_by_name_and_address(
    pchain: PChain, chain: Chain, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.mine()
    monkeypatch.setattr("explorer_app.views.contracts.PAGE", 2)
    for number, name in enumerate(("Vault", "Vault 2", "Counter", "vault", "Vault"), 1):
        verified(number, name)
    page = browse("/contracts", name="vAu")
    assert page.slow_plans() == []
    found = listed(page.text)
    while (match := FURTHER.search(page.text)) is not None:
        page = browse("/contracts" + match[1].replace("&amp;", "&"))
        assert page.slow_plans() == []
        found += listed(page.text)
    assert found == [f"0x{bytes([number] * 20).hex()}" for number in (1, 4, 5, 2)]

    by_address = browse("/contracts", name="0x" + "03" * 20)
    assert listed(by_address.text) == ["0x" + "03" * 20]
    assert by_address.slow_plans() == []
    assert "No verified contract has this address" in browse("/contracts", name="zz").text
    assert browse("/contracts", name="vault", after="zz-x").status == HTTPStatus.OK


def test_cursor_of_contract_names_respects_the_search(pchain: PChain, chain: Chain) -> None:
    verified(1, "Aaa")
    verified(2, "Vault")
    place = NamePlace(b"aaa", 0)

    assert [row.name for row in contract_list.contracts_by_name(chain.evm, "vau", after=place)] == ["Vault"]  # fmt: skip
