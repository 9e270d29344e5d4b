"""Keyset pagination of lists: all rows once, in order, with every filter."""

from typing import Any

import pytest

from platform_app import models
from shared_app import models as shared_models
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import MODELS, listing

pytestmark = pytest.mark.usefixtures("history")

_STAKERS = models.Staker.objects
TABLES: dict[str, Any] = {
    "block": models.Block.objects.order_by("-height"),
    "tx": models.Tx.objects.order_by("-id"),
    "subnet": models.Subnet.objects.order_by("-position"),
    "blockchain": models.Blockchain.objects.order_by("-position"),
    "utxo": models.UTXO.objects.order_by("utxo_id"),
    "sharedoutput": shared_models.SharedOutput.objects.order_by("utxo_id"),
    "mempooltx": models.MempoolTx.objects.order_by("-id"),
    "droppedtx": models.DroppedTx.objects.order_by("-id"),
    "keystoreuser": models.KeystoreUser.objects.order_by("name"),
    "validator": _STAKERS.filter(is_delegator=False, phase=2).order_by("-position"),
    "delegator": _STAKERS.filter(is_delegator=True, phase=2).order_by("-position"),
}


def _follow(browse: Browse, model: str, query: str, link: str) -> list[list[object]]:
    """Return the keys on each page reached by following one link repeatedly."""
    pages = []
    while True:
        page = browse(listing(model) + query)
        assert page.status == 200
        pages.append([row.pk for row in page.rows])
        query = getattr(page.response.context["cl"], link)
        if query is None:
            return pages


def _joined(pages: list[list[object]]) -> list[object]:
    return [key for page in pages for key in page]


@pytest.mark.parametrize("model", MODELS)
def test_next_links_visit_each_row_once(browse: Browse, model: str) -> None:
    pages = _follow(browse, model, "", "next_url")
    assert _joined(pages) == list(TABLES[model].values_list("pk", flat=True))
    assert len(pages) > 1
    assert {len(page) for page in pages[:-1]} == {50}


@pytest.mark.parametrize("model", ["tx", "utxo", "validator", "keystoreuser"])
def test_previous_links_return_over_the_same_pages(browse: Browse, model: str) -> None:
    forwards = _follow(browse, model, "", "next_url")
    query = ""
    for _ in forwards[1:]:
        query = browse(listing(model) + query).response.context["cl"].next_url
    start = browse(listing(model) + query).response.context["cl"].previous_url
    backwards = _follow(browse, model, start, "previous_url")
    assert _joined([*reversed(backwards), forwards[-1]]) == _joined(forwards)


@pytest.mark.parametrize(
    ("model", "choice"),
    [("delegator", "all"), ("validator", "all"), ("tx", "validators"), ("tx", "delegators")],
)
def test_parts_of_several_kinds_are_one_list_in_order(
    browse: Browse, model: str, choice: str
) -> None:
    pages = _follow(browse, model, f"?show={choice}", "next_url")
    if model == "tx":
        kinds = {"validators": [12, 13, 23, 25], "delegators": [14, 26]}[choice]
        expected = models.Tx.objects.filter(kind__in=kinds).order_by("-id")
    else:
        expected = _STAKERS.filter(is_delegator=model == "delegator").order_by("-position")
    assert _joined(pages) == list(expected.values_list("pk", flat=True))


def test_filter_and_search_are_kept_on_all_pages(browse: Browse) -> None:
    listed = browse(listing("delegator"), show="current").response.context["cl"]
    assert "show=current" in listed.next_url
    assert listed.export_url == f"{listing('delegator')}export/?show=current"
    assert [tab.is_chosen for tab in listed.tabs] == [True, False, False, False]


def test_another_filter_starts_at_its_first_page(browse: Browse) -> None:
    listed = browse(listing("delegator"), show="current", next="5").response.context["cl"]
    assert [tab.url for tab in listed.tabs] == [
        f"?show={name}" for name in ("current", "pending", "past", "all")
    ]


@pytest.mark.parametrize("cursor", ["", "x", "0xzz", "1.5"])
@pytest.mark.parametrize("model", ["tx", "utxo", "validator"])
def test_invalid_cursor_redirects_to_the_first_page(
    browse: Browse, model: str, cursor: str
) -> None:
    page = browse(listing(model), next=cursor)
    assert (page.status, page.response.headers["Location"]) == (302, listing(model))


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_sorted_or_filtered_without_an_index(browse: Browse, model: str) -> None:
    first = browse(listing(model)).rows
    assert browse(listing(model), o="2").rows == first
    assert browse(listing(model), all="").rows == first
    page = browse(listing(model), pk__gt="5")
    assert (page.status, page.chain_statements) == (302, [])
