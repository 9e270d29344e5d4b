"""Pages of the network take few statements, which use indexes, however many rows exist."""

from urllib.parse import parse_qsl

import pytest

from tests.integration.admin_pages import Browse, Page
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import KEYS, MODELS, detail, listing

pytestmark = pytest.mark.usefixtures("network")

BOUNDED = (
    "network_app_chainsync",
    "network_app_networkstatus",
    "USING INDEX network_peer_connected",
    "USING INDEX network_peer_gone",
    "USING INDEX network_decision_against",
)
"""Scans that are allowed: tables of one or two rows, and indexes that contain just a list's rows in its order."""

LISTS = [
    ("peer", {}, 2),  # and the process's report
    ("peer", {"show": "gone"}, 2),
    ("peer", {"show": "validators"}, 2),
    ("peer", {"show": "all"}, 2),
    ("chainsync", {}, 2),
    ("networkstatus", {}, 1),
    ("outerblock", {"show": "P"}, 1),
    ("outerblock", {"show": "C"}, 1),
    ("outerblock", {"show": "all"}, 1),
    ("blockdecision", {}, 1),
    ("blockdecision", {"show": "P"}, 1),
    ("blockdecision", {"show": "rejected"}, 1),
    ("blockdecision", {"q": "9"}, 1),
    ("blockdecision", {"q": "9", "show": "C"}, 1),
    ("blockdecision", {"q": str(past.node(2))}, 1),
    ("blockdecision", {"q": str(past.block_id("P", 9))}, 1),
    # Searches in all three chains: one statement per chain, and one for the rows.
    ("peer", {"q": str(past.node(4))}, 2),
    ("outerblock", {"q": "9"}, 5),
    ("outerblock", {"q": str(past.block_id("P", 9))}, 4),
    ("outerblock", {"q": str(past.node(2))}, 4),
    ("outerblock", {"q": str(past.node(2)), "show": "P"}, 1),
]

DETAILS = {"peer": 2, "chainsync": 2, "networkstatus": 1, "outerblock": 3, "blockdecision": 1}


def _assert_cheap(page: Page, statements: int) -> None:
    assert page.status == 200
    slow = [plan for plan in page.slow_plans() if not any(item in plan for item in BOUNDED)]
    assert slow == []
    asked = [sql for sql, _ in page.chain_statements]
    assert len(asked) == statements, "\n".join(asked)
    for sql in asked:
        assert "COUNT(" not in sql
        assert "LIKE" not in sql
        assert "OFFSET" not in sql


@pytest.mark.parametrize(("model", "parameters", "statements"), LISTS, ids=str)
def test_a_list_is_a_few_statements_by_index(
    browse: Browse, model: str, parameters: dict[str, str], statements: int
) -> None:
    page = browse(listing(model), **parameters)
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize(
    ("model", "parameters", "statements"),
    [item for item in LISTS if "show" in item[1] and item[0] != "chainsync" and "q" not in item[1]],
    ids=str,
)
@pytest.mark.parametrize("direction", ["next", "previous"])
def test_a_page_in_the_middle_costs_no_more(
    browse: Browse, model: str, parameters: dict[str, str], statements: int, direction: str
) -> None:
    following = browse(listing(model), **parameters).response.context["cl"].next_url
    key = dict(parse_qsl(following[1:]))["next"]
    page = browse(listing(model), **parameters, **{direction: key})
    assert page.rows
    _assert_cheap(page, statements)


@pytest.mark.parametrize("model", MODELS)
def test_a_row_has_a_page_of_a_few_statements_by_index(browse: Browse, model: str) -> None:
    _assert_cheap(browse(detail(model, KEYS[model])), DETAILS[model])


def test_search_by_address_takes_one_statement(browse: Browse) -> None:
    page = browse(listing("peer"), q="198.51.100.4")
    assert [row.pk for row in page.rows] == [past.node(4)]
    assert len(page.chain_statements) == 2  # and the process's report


def test_peer_list_takes_few_statements(browse: Browse) -> None:
    browse(listing("peer"), show="validators")
    page = browse(listing("peer"), show="validators")
    assert len(page.rows) == 50
    asked = [
        sql for sql, _ in page.statements if "platform_app_" in sql and "network_app_" not in sql
    ]
    # The time of the stakers, whether uptimes are tracked, and the uptimes.
    assert len(asked) == 3, "\n".join(asked)


def test_a_list_of_blocks_does_not_read_signatures_and_certificates(browse: Browse) -> None:
    ((sql, _),) = browse(listing("outerblock"), show="C").chain_statements
    assert "signature" not in sql
    assert "certificate" not in sql
