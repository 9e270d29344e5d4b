"""Database queries of the admin's pages: few statements, each uses an index, and none counts rows."""

from typing import Any

import pytest
from django.apps import apps

from cchain_app import models
from cchain_app.apps import evm_chain
from tests.builders import rows
from tests.integration.cchain_app.admin.conftest import Browse
from tests.integration.cchain_app.admin.paths import ADMIN, MODELS, detail, hexed, listing

pytestmark = pytest.mark.usefixtures("chain")


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the names of contracts, which the explorer reads (`test_labels`)."""
    monkeypatch.setattr(apps.get_app_config("cchain_app"), "names", None)


DEEP: dict[str, Any] = {
    "block": 60,
    "transaction": models.row_id(60),
    "log": models.row_id(60),
    "account": "0x80" + "00" * 19,
    "accountchange": models.row_id(60),
    "call": models.row_id(60),
    "developmentchange": models.row_id(60),
    "snapshot": 60,
    "contractcreation": models.row_id(60),
    "contract": "0x80" + "00" * 19,
    "createdaccount": 30,
    "impersonation": rows.FIRST_IMPERSONATION + 30,
    "impersonatedsignature": 30,
    "forkedaccount": "0x80" + "00" * 19,
    "forkedslot": hexed(rows.TOKEN + (30).to_bytes(32, "big")),
    "forkedhash": 60,
    "blob": 60,
}

STATEMENTS = {
    # The first page of calls also shows the indexing progress: two key lookups.
    "call": 3,
    "contractcreation": 3,
    # Balances of the senders, and whether the node has their keys, both looked up by address.
    "impersonation": 3,
    "createdaccount": 3,
    # Which of the transactions are mined, and which are pending, both looked up by hash.
    "blob": 3,
}
"""Statements for the first page of a list, where more than one is needed."""

SEARCHES = [
    ("block", "60", 1),
    ("block", hexed(rows.block_hash(60)), 2),
    ("transaction", "60", 1),
    ("transaction", hexed(rows.transaction_hash(60, 4)), 2),
    ("transaction", hexed(rows.block_hash(60)), 4),
    ("transaction", hexed(rows.person(5)), 4),
    ("transaction", hexed(rows.contract(60)), 5),
    ("log", "60", 1),
    ("log", hexed(rows.transaction_hash(60, 4)), 3),
    ("log", hexed(rows.block_hash(60)), 3),
    ("log", hexed(rows.TRANSFER), 3),
    # Three steps from event to event, three branches of the union, and the rows.
    ("log", hexed(rows.TOKEN), 7),
    ("account", hexed(rows.TOKEN), 1),
    ("accountchange", hexed(rows.COINBASE), 1),
    ("accountchange", "60", 1),
    ("contract", hexed(rows.TOKEN), 1),
    ("pooltransaction", hexed(rows.person(5)), 1),
    ("pooltransaction", hexed(rows.waiting_hash(5)), 1),
    ("impersonation", hexed(rows.person(5)), 3),
    ("impersonatedsignature", "60", 1),
    ("createdaccount", hexed(rows.person(5)), 3),
    ("forkedaccount", hexed(rows.TOKEN), 1),
    ("forkedslot", hexed(rows.TOKEN), 1),
    ("forkedhash", "60", 1),
    ("blob", hexed(rows.transaction_hash(60, 0)), 5),
]

DETAILS = [
    ("block", 60, 2),
    ("block", hexed(rows.block_hash(60)), 2),
    ("transaction", models.row_id(60, 0), 3),
    ("transaction", models.row_id(60, 4), 4),
    ("transaction", hexed(rows.transaction_hash(60, 4)), 4),
    ("log", models.row_id(60, 1), 2),
    ("account", hexed(rows.person(5)), 1),
    ("call", models.row_id(60, 1), 1),
    ("account", hexed(rows.TOKEN), 5),
    ("contract", hexed(rows.TOKEN), 5),
    ("accountchange", models.row_id(60, 1), 1),
    ("impersonation", rows.FIRST_IMPERSONATION, 3),
    ("impersonatedsignature", 60, 1),
    ("createdaccount", 5, 3),
    ("forkedaccount", hexed(rows.TOKEN), 2),
    ("forkedaccount", hexed(rows.person(2)), 1),
    ("forkedslot", hexed(rows.TOKEN + bytes(32)), 2),
    ("forkedhash", 60, 1),
    ("blob", 60, 3),
]


def _assert_cheap(page: Any, statements: int) -> None:
    assert page.status == 200
    assert page.slow_plans() == []
    assert len(page.chain_statements) == statements
    for sql, _ in page.chain_statements:
        assert "COUNT(" not in sql
        assert "LIKE" not in sql
        assert "OFFSET" not in sql


@pytest.mark.parametrize("model", MODELS)
def test_list_takes_one_statement_by_index(browse: Browse, model: str) -> None:
    _ = evm_chain().fork  # each process reads it once
    page = browse(listing(model))
    assert len(page.rows) == 50
    _assert_cheap(page, STATEMENTS.get(model, 1))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("direction", ["next", "previous"])
def test_middle_page_takes_one_statement_by_index(
    browse: Browse, model: str, direction: str
) -> None:
    # The pool's keys keep growing from test to test.
    middle = models.PoolTransaction.objects.order_by("id")[30].pk
    page = browse(listing(model), **{direction: DEEP.get(model, middle)})
    assert page.rows
    _assert_cheap(page, 3 if model in {"impersonation", "createdaccount", "blob"} else 1)


@pytest.mark.parametrize(("model", "text", "statements"), SEARCHES)
def test_a_search_is_a_few_statements_by_index(
    browse: Browse, model: str, text: str, statements: int
) -> None:
    page = browse(listing(model), q=text)
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize(("model", "key", "statements"), DETAILS)
def test_a_detail_page_is_a_few_statements_by_index(
    browse: Browse, model: str, key: object, statements: int
) -> None:
    _ = evm_chain().first_number  # each process reads it once, and whether the chain is a fork
    _assert_cheap(browse(detail(model, key)), statements)


def test_pending_transaction_page_takes_one_statement(browse: Browse) -> None:
    _assert_cheap(browse(detail("pooltransaction", hexed(rows.waiting_hash(5)))), 1)


def test_page_reads_only_session_and_user_besides(browse: Browse) -> None:
    page = browse(listing("transaction"))
    assert len(page.statements) == len(page.chain_statements) + 2


def test_a_list_does_not_read_the_large_columns(browse: Browse) -> None:
    for model, column in (
        ("block", '"header"'),
        ("transaction", '"raw"'),
        ("pooltransaction", '"raw"'),
    ):
        statements = browse(listing(model)).chain_statements
        assert statements
        assert not any(column in sql for sql, _ in statements)


def test_the_first_page_counts_the_pool_only_when_it_or_the_head_changed(browse: Browse) -> None:
    first, second = browse(ADMIN), browse(ADMIN)
    # Latest blocks, rates, pool size, latest transactions. Another process may have paused production, so in the
    # production profile the overrides and the signatures among them are read as well.
    again = 6 if evm_chain().node.profile == "production" else 4
    assert len(second.chain_statements) == again
    assert len(first.chain_statements) > again
    assert "30 pending" in first.text
    assert "30 pending" in second.text
    models.PoolTransaction.objects.filter(sender=rows.person(0)).delete()
    assert "29 pending" in browse(ADMIN).text


def test_the_first_page_reads_no_large_table_whole(browse: Browse) -> None:
    browse(ADMIN)
    # The pool has a size limit, so it may be counted; rates group only the latest blocks.
    bounded = ("pooltransaction", "LIMIT 2000) AS latest")
    slow = browse(ADMIN).slow_plans()
    assert [plan for plan in slow if not any(item in plan for item in bounded)] == []
