"""Query plans of lists and frequent reads, which must not cost more on a long chain (pages: `Page.slow_plans`)."""

from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from cchain_app.selectors import blocks
from cchain_app.services.calls import index_calls
from explorer_app.services.statistics import summarise
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.admin_pages import Page
from tests.integration.conftest import Rpc
from tests.integration.explorer_app.contracts.conftest import ME, Explored

GROWING = tuple(
    f"SCAN cchain_app_{table}"
    for table in ("block", "transaction", "receipt", "log", "account", "storage", "trienode")
)
"""Beginnings of plan steps that read a table that grows with the chain."""


@pytest.fixture
def factory(explored: Explored) -> Address:
    """Make a chain with a contract that another one created, and write the indexes; return the creator."""
    chain = explored.chain
    found = bytecode.created(SENDER, chain.nonce)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.FACTORY), gas=500_000, value=0)
    code = bytecode.deploy_code(bytecode.STORE)
    chain.do(to=found, data=bytecode.words(8) + code, gas=300_000, value=0)
    chain.do(to=RECIPIENT, value=3)
    index_calls(explored.site.evm, seconds=60)
    summarise(explored.site.evm, seconds=60)
    return found


@pytest.mark.parametrize(
    "query",
    [
        "account&action=txlist&address={me}&page=1&offset=5",
        "account&action=txlistinternal&address={me}&page=1&offset=5",
        "account&action=txlistinternal&address={factory}&sort=desc",
        "stats&action=ethsupply",
    ],
)
def test_lists_neither_scan_nor_sort(explored: Explored, factory: Address, query: str) -> None:
    path = f"/api?module={query.format(me=ME, factory='0x' + factory.hex())}"
    page = Page(explored.client.get(path), "cchain_app")  # imports and first reads
    with connection.execute_wrapper(page.note):
        answered = explored.client.get(path)
    assert answered.json()["status"] == "1" or "txlistinternal&address={me}" in query
    assert page.chain_statements
    assert page.slow_plans() == []


def test_inner_calls_are_found_among_inner_calls_alone(
    explored: Explored, factory: Address
) -> None:
    path = f"/api?module=account&action=txlistinternal&address=0x{factory.hex()}"
    page = Page(explored.client.get(path), "cchain_app")
    with connection.execute_wrapper(page.note):
        (row,) = explored.client.get(path).json()["result"]
    assert row["type"] == "create2"
    plans = str(page.plans())
    if connection.vendor == "sqlite":  # PostgreSQL may take any index of so few rows
        assert "INDEX cchain_inner_by_sender (sender=?" in plans
        assert "INDEX cchain_inner_by_recipient (to=?" in plans


@pytest.mark.sqlite_only  # its plans name the scanned table
@pytest.mark.usefixtures("factory")
def test_reads_of_the_past_scan_no_table(explored: Explored, rpc: Rpc) -> None:
    block = rpc("eth_getBlockByNumber", "0x2", False)
    chain = explored.site.evm
    chain.memory.reset_to(blocks.head(chain))  # nothing but the head is remembered
    calls: tuple[tuple[str, Any], ...] = (
        ("eth_getBalance", [ME, "0x1"]), ("eth_getTransactionCount", [ME, "0x1"]),
        ("eth_call", [{"to": ME}, "0x1"]), ("eth_getBlockByHash", [block["hash"], True]),
        ("eth_getTransactionReceipt", [block["transactions"][0]]), ("eth_feeHistory", ["0x3", "0x3", [50]]),
        ("eth_getStorageAt", [ME, "0x0", "0x1"]), ("debug_traceTransaction", [block["transactions"][0]]),
    )  # fmt: skip
    for method, params in calls:
        page = Page(HttpResponse(), "cchain_app")
        with connection.execute_wrapper(page.note):
            assert rpc(method, *params) is not None
        steps = [step for plan in page.plans() for step in plan]
        assert not [step for step in steps if step.startswith(GROWING)], method
