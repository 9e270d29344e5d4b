"""Etherscan's lists of tokens and balances, and Blockscout's of verified contracts."""

import json
import re
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from explorer_app.selectors.tokens import BalancePage
from explorer_app.services.tokens import index_tokens
from tests.builders.transactions import RECIPIENT
from tests.integration.explorer_app.contracts.conftest import ME, TO, Explored, account

TRANSFER = bytes.fromhex("a9059cbb")
NOW = 1_790_000_000


@pytest.mark.node_settings(token_index="off")
def test_token_balance_and_supply_come_from_the_contract(explored: Explored) -> None:
    found = explored.deploy("oldtoken")
    token = "0x" + found.addresses["oldtoken"]
    supply = int(found.fields["constructorArguments"], 16)

    told = account(explored, "tokenbalance", contractaddress=token, address=ME)["result"]
    assert told == str(supply)
    told = explored.get(module="stats", action="tokensupply", contractaddress=token)["result"]
    assert told == str(supply)
    no_token = account(explored, "tokenbalance", contractaddress=TO, address=ME)["result"]
    assert no_token == "Error! The contract is not a token"
    unlisted = account(explored, "tokentx", address=ME)["result"]
    assert unlisted == "Error! This node has no index of tokens"


def test_tokens_are_listed_from_rows(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explored.deploy("oldtoken")
    at = bytes.fromhex(found.addresses["oldtoken"])
    token = "0x" + found.addresses["oldtoken"]
    supply = int(found.fields["constructorArguments"], 16)
    sent, _ = explored.chain.do(
        to=at, value=0, data=TRANSFER + RECIPIENT.rjust(32, b"\0") + (5).to_bytes(32), gas=100_000
    )
    while index_tokens(explored.chain.evm, seconds=60, now=NOW):
        pass

    (row,) = account(explored, "tokentx", address=TO)["result"]
    assert row == account(explored, "tokentx", contractaddress=token, sort="desc")["result"][0]
    assert (row["hash"], row["from"], row["to"]) == ("0x" + sent.hash.hex(), ME, TO)
    assert (row["value"], row["contractAddress"], row["input"]) == ("5", token, "deprecated")
    assert (
        account(explored, "tokentx", address=TO, startblock=99)["message"]
        == "No transactions found"
    )
    assert account(explored, "tokennfttx", address=TO)["result"] == []
    (held,) = account(explored, "addresstokenbalance", address=TO)["result"]
    assert (held["TokenAddress"], held["TokenQuantity"]) == (token, "5")
    assert account(explored, "addresstokennftbalance", address=TO)["result"] == []
    (info,) = explored.get(module="token", action="tokeninfo", contractaddress=token)["result"]
    assert (info["tokenType"], info["totalSupply"]) == ("ERC-20", str(supply))
    holders = explored.get(module="token", action="tokenholderlist", contractaddress=token)[
        "result"
    ]
    assert [holder["TokenHolderQuantity"] for holder in holders] == [str(supply - 5), "5"]
    count = explored.get(module="token", action="tokenholdercount", contractaddress=token)
    assert count["result"] == "2"
    assert account(explored, "tokentx")["result"] == "Error! Invalid address format"
    nobody = explored.get(module="token", action="tokeninfo", contractaddress=TO)["result"]
    assert nobody == "Error! The contract is not a token"
    monkeypatch.setattr("explorer_app.selectors.token_logs.MAX_LOOKED_AT", 0)
    monkeypatch.setattr(
        "explorer_app.selectors.tokens.balances_of", lambda *_, **__: BalancePage([], b"more")
    )
    for action in ("tokentx", "addresstokenbalance"):
        text = "Query Timeout occured. Please select a smaller result dataset"
        assert account(explored, action, address=TO)["result"] == text


def test_verified_contracts_are_listed_as_blockscout_does(
    explored: Explored,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    counter, vault = explored.verified("counter"), explored.verified("vault")

    def listed(**params: int) -> Any:
        with django_assert_num_queries(1):
            return explored.get(module="contract", action="listcontracts", **params)["result"]

    rows = listed()
    assert [(row["Address"], row["ContractName"]) for row in rows] == [
        ("0x" + vault.addresses["vault"], "Vault"),
        ("0x" + counter.addresses["counter"], "Counter"),
    ]
    for row, found in zip(rows, (vault, counter), strict=True):
        assert row["CompilerVersion"] == found.fields["compilerVersion"]
        optimizer = found.fields["standardJson"]["settings"]["optimizer"]
        assert row["OptimizationUsed"] == str(int(optimizer["enabled"]))
        assert json.loads(row["ABI"]) == found.fields["abi"]
    assert listed(page=2, offset=1) == rows[1:]
    monkeypatch.setattr("explorer_app.api.contract_actions.MAX_LISTED", 1)
    assert listed(offset=9000) == rows[:1]
    assert listed(page=2, offset=9000) == rows[1:]
    monkeypatch.setattr("explorer_app.selectors.verified.MAX_LISTED", 100)
    assert listed().startswith("Query Timeout occured")


def test_verified_contracts_are_suggested_by_name_prefix(
    explored: Explored,
) -> None:
    found = explored.verified("counter")
    address = f"0x{found.addresses['counter']}"

    text = explored.client.get("/suggest", {"q": "cOUNT"}).content.decode()

    (shown,) = re.findall(r'href="/address/(\w+)"', text)
    assert shown.lower() == address
    assert "<bdi>Counter</bdi>" in text
    assert "<li>" not in explored.client.get("/suggest", {"q": "ounter"}).content.decode()
