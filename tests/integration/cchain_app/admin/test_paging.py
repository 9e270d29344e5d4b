"""Keyset pagination of lists: each row once, in order, and later pages are as cheap as the first."""

import pytest

from cchain_app import models
from tests.builders import rows
from tests.integration.cchain_app.admin.conftest import BLOCKS, Browse
from tests.integration.cchain_app.admin.paths import hexed, listing

pytestmark = pytest.mark.usefixtures("chain")


def _follow(browse: Browse, path: str, query: str, link: str) -> list[list[object]]:
    """Return the keys on each page reached by following one link repeatedly."""
    pages = []
    while True:
        page = browse(path + query)
        assert page.status == 200
        pages.append([row.pk for row in page.rows])
        query = getattr(page.response.context["cl"], link)
        if query is None:
            return pages


def _joined(pages: list[list[object]]) -> list[object]:
    return [key for page in pages for key in page]


def test_first_page_starts_with_the_head(browse: Browse) -> None:
    assert [row.number for row in browse(listing("block")).rows] == list(
        range(BLOCKS, BLOCKS - 50, -1)
    )


@pytest.mark.parametrize("model", ["block", "transaction", "log", "accountchange"])
def test_next_links_visit_each_row_once_from_the_latest(browse: Browse, model: str) -> None:
    pages = _follow(browse, listing(model), "", "next_url")
    table = {
        "block": models.Block,
        "transaction": models.Transaction,
        "log": models.Log,
        "accountchange": models.AccountChange,
    }[model]
    assert _joined(pages) == list(table.objects.order_by("-pk").values_list("pk", flat=True))
    assert {len(page) for page in pages[:-1]} == {50}


def test_accounts_are_listed_by_address(browse: Browse) -> None:
    pages = _follow(browse, listing("account"), "", "next_url")
    assert _joined(pages) == sorted(models.Account.objects.values_list("pk", flat=True))


def test_previous_links_return_over_the_same_pages(browse: Browse) -> None:
    forwards = _follow(browse, listing("block"), "", "next_url")
    last = browse(listing("block"), next=forwards[-2][-1])
    start = last.response.context["cl"].previous_url
    backwards = _follow(browse, listing("block"), start, "previous_url")
    assert _joined([*reversed(backwards), forwards[-1]]) == _joined(forwards)


def test_the_first_page_has_no_previous_and_the_last_no_next(browse: Browse) -> None:
    first = browse(listing("block")).response.context["cl"]
    assert (first.previous_url, first.next_url) == (None, f"?next={BLOCKS - 49}")
    last = browse(listing("block"), next=10).response.context["cl"]
    assert (last.previous_url, last.next_url) == ("?previous=9", None)


def test_a_search_keeps_its_term_from_page_to_page(browse: Browse) -> None:
    token = hexed(rows.TOKEN)
    page = browse(listing("transaction"), q=token)
    assert page.response.context["cl"].next_url == f"?next={page.rows[-1].pk}&q={token}"


def test_row_matching_several_indexes_is_listed_once(browse: Browse) -> None:
    person = rows.person(5)
    models.Transaction.objects.filter(pk=models.row_id(3, 0)).update(sender=person, to=person)
    pages = _follow(browse, listing("transaction"), f"?q={hexed(person)}", "next_url")
    sent = set(models.Transaction.objects.filter(sender=person).values_list("pk", flat=True))
    got = set(models.Transaction.objects.filter(to=person).values_list("pk", flat=True))
    assert _joined(pages) == sorted(sent | got, reverse=True)


def test_logs_of_a_contract_are_in_order_across_its_events(browse: Browse) -> None:
    pages = _follow(browse, listing("log"), f"?q={hexed(rows.TOKEN)}", "next_url")
    assert _joined(pages) == list(models.Log.objects.order_by("-id").values_list("pk", flat=True))


def test_a_contract_with_very_many_kinds_of_events_is_listed_too(browse: Browse) -> None:
    for log in models.Log.objects.order_by("id")[:40]:
        models.Log.objects.filter(pk=log.pk).update(topic0=rows.block_hash(log.pk))
    pages = _follow(browse, listing("log"), f"?q={hexed(rows.TOKEN)}", "next_url")
    assert _joined(pages) == list(models.Log.objects.order_by("-id").values_list("pk", flat=True))


def test_changes_of_an_account_are_paged_by_block(browse: Browse) -> None:
    pages = _follow(browse, listing("accountchange"), f"?q={hexed(rows.COINBASE)}", "next_url")
    changes = models.AccountChange.objects.filter(address=rows.COINBASE).order_by("-id")
    assert _joined(pages) == list(changes.values_list("pk", flat=True))


@pytest.mark.parametrize("cursor", ["", "x", "0x12", "1.5"])
def test_invalid_cursor_redirects_to_the_first_page(browse: Browse, cursor: str) -> None:
    page = browse(listing("block"), next=cursor)
    assert (page.status, page.response.headers["Location"]) == (302, "/admin/cchain_app/block/")
    told = browse(listing("block"))
    assert f"This list has no filter “next={cursor}”" in told.text
    assert len(told.rows) == 50


def test_a_cursor_beyond_all_keys_is_an_end(browse: Browse) -> None:
    assert browse(listing("block"), next=-(10**30)).rows == []
    assert len(browse(listing("block"), next=10**30).rows) == 50


def test_nothing_can_be_sorted_or_filtered_without_an_index(browse: Browse) -> None:
    assert browse(listing("transaction"), o="7").rows == browse(listing("transaction")).rows
    page = browse(listing("transaction"), value__gt="5")
    assert (page.status, page.chain_statements) == (302, [])
    assert browse(listing("transaction"), all="").rows == browse(listing("transaction")).rows
