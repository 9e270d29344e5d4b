"""Database queries of the admin's pages: few statements, each uses an index, and none counts rows."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import ADMIN, MODELS, detail, listing
from tests.integration.platform_app.admin.shown import address, keys

pytestmark = pytest.mark.usefixtures("history")

LISTS = {
    "block": 1,
    "tx": 2,  # and the times of their blocks
    "validator": 4,  # and uptimes, whether they are tracked, and delegated stake
    "delegator": 1,
    "subnet": 2,  # and the names of their blockchains
    "blockchain": 1,
    "utxo": 2,  # and the staking asset
    "sharedoutput": 3,  # and the names of the chains
    "mempooltx": 1,
    "droppedtx": 1,
    "keystoreuser": 2,  # and their numbers of keys
}

CHOICES = [
    ("validator", "pending", 1),
    ("validator", "past", 5),
    ("validator", "all", 4),  # three branches and the rows
    ("delegator", "pending", 1),
    ("delegator", "past", 2),
    ("delegator", "all", 4),
    ("tx", "transfers", 2),
    ("tx", "between", 3 + 1),
    ("tx", "validators", 7 + 1),
    ("tx", "delegators", 3 + 1),
    ("tx", "subnets", 4 + 1),
    ("tx", "rewards", 3 + 1),
]

SEARCHES = [
    ("block", "20", 1),
    ("block", past.transfer_tx(3).tx_id, 2),
    ("tx", "3", 2),
    ("tx", past.transfer_tx(3).tx_id, 3),
    # One branch for each of three phases, and the rows.
    ("validator", past.node(3), 4 + 3),
    ("validator", past.subnet_tx(3).tx_id, 7),
    ("validator", past.validator_tx(3).tx_id, 7 + 3),
    ("delegator", past.node(3), 4),
    ("delegator", address(past.platform.ADDRESS), 5),
    ("subnet", past.subnet_tx(3).tx_id, 2),
    ("subnet", address(past.person(3)), 3),
    ("blockchain", past.subnet_tx(3).tx_id, 3),
    ("utxo", address(past.person(0)), 3),
    ("utxo", past.transfer_tx(3).tx_id, 5),
    ("sharedoutput", address(past.person(3)), 10),
    ("mempooltx", past.waiting_tx(3).tx_id, 3),
    ("mempooltx", past.platform.utxo(1, number=1_003).utxo_id, 3),
    ("droppedtx", past.dropped_id(59), 1),
    ("keystoreuser", "user 003 <b>", 2),
]

DETAILS = {
    "block": 4,
    "tx": 5,
    "validator": 7,  # and whether it is renewed
    "delegator": 3,
    "subnet": 4,
    "blockchain": 1,
    "utxo": 3,
    "sharedoutput": 4,
    "mempooltx": 3,
    "droppedtx": 1,
    "keystoreuser": 3,
}

BOUNDED = (
    "platform_app_chain",
    "ROW_NUMBER()",
    '"platform_app_keystorekey"',
    "platform_app_stakeoutput",
)
"""Allowed scans and sorts: the chain's single row, a subnet's blockchains, a user's keys, a staker's outputs."""


def _assert_cheap(page: Any, statements: int) -> None:
    assert page.status == 200
    assert [plan for plan in page.slow_plans() if not any(item in plan for item in BOUNDED)] == []
    asked = [sql for sql, _ in page.chain_statements]
    assert len(asked) == statements, "\n".join(asked)
    for sql in asked:
        # The delegators of a page's nodes are counted in an index for that purpose.
        assert "COUNT(*)" not in sql.replace("SELECT node_id, COUNT(*)", "")
        assert "LIKE" not in sql
        assert "OFFSET" not in sql


@pytest.mark.parametrize(("model", "statements"), LISTS.items())
def test_a_list_is_a_few_statements_by_index(browse: Browse, model: str, statements: int) -> None:
    page = browse(listing(model))
    assert len(page.rows) == 50
    _assert_cheap(page, statements)


@pytest.mark.parametrize(("model", "statements"), LISTS.items())
@pytest.mark.parametrize("direction", ["next", "previous"])
def test_a_page_in_the_middle_costs_no_more(
    browse: Browse, model: str, statements: int, direction: str
) -> None:
    key = dict(parse_qsl(browse(listing(model)).response.context["cl"].next_url[1:]))["next"]
    page = browse(listing(model), **{direction: key})
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize(("model", "choice", "statements"), CHOICES)
def test_a_part_of_a_list_is_a_few_statements_by_index(
    browse: Browse, model: str, choice: str, statements: int
) -> None:
    page = browse(listing(model), show=choice)
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize(("model", "text", "statements"), SEARCHES, ids=str)
def test_a_search_is_a_few_statements_by_index(
    browse: Browse, model: str, text: object, statements: int
) -> None:
    page = browse(listing(model), q=str(text))
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize("model", MODELS)
def test_a_row_has_a_page_of_a_few_statements_by_index(browse: Browse, model: str) -> None:
    _assert_cheap(browse(detail(model, keys()[model])), DETAILS[model])


@pytest.mark.parametrize("model", MODELS)
def test_page_reads_only_clock_session_and_user_besides(browse: Browse, model: str) -> None:
    page = browse(listing(model))
    assert len(page.statements) == len(page.chain_statements) + 2


def test_a_list_does_not_read_the_large_columns(browse: Browse) -> None:
    for model in ("block", "tx", "mempooltx"):
        listed, *_ = browse(listing(model)).chain_statements
        assert '"raw"' not in listed[0].replace('LENGTH("platform_app_', "").replace('."raw")', "")
    listed, *_ = browse(listing("validator")).chain_statements
    assert "proof_of_possession" not in listed[0]


def test_first_page_caches_the_validators(browse: Browse) -> None:
    first, second = browse(ADMIN), browse(ADMIN)
    # Tip, time of the stakers, supply, mempool, rates, latest blocks, latest transactions.
    assert len(second.chain_statements) == 7
    assert len(first.chain_statements) > 6
    assert [
        plan
        for plan in second.slow_plans()
        if not any(small in plan for small in ("mempooltx", "platform_app_chain", "LIMIT 2000"))
    ] == []
