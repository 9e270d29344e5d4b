"""Lists and pages of outer blocks: content, links and search."""

import pytest
from django.utils.html import escape

from network_app.models import OuterBlock
from platform_app.models import Block
from tests.builders import rows
from tests.integration.admin_pages import Browse
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import detail, listing

pytestmark = pytest.mark.usefixtures("network")


def _found(browse: Browse, text: object, **choice: str) -> list[tuple[str, int]]:
    page = browse(listing("outerblock"), q=str(text), **choice)
    assert page.status == 200
    return [(row.chain, row.height) for row in page.rows]


def _leads_to(text: str, path: str) -> bool:
    return f'href="{escape(path)}"' in text


@pytest.mark.parametrize("chain", ["P", "C"])
def test_blocks_of_a_chain_are_listed_the_latest_first(browse: Browse, chain: str) -> None:
    query, found = f"?show={chain}", []
    while query is not None:
        page = browse(listing("outerblock") + query)
        found += [(row.chain, row.height) for row in page.rows]
        query = page.response.context["cl"].next_url
    assert found == [(chain, height) for height in range(past.BLOCKS, 0, -1)]


def test_blocks_of_all_chains_are_listed_by_height(browse: Browse) -> None:
    listed = browse(listing("outerblock"), show="all").rows
    heights = [past.BLOCKS - place // 2 for place in range(50)]
    assert [(row.chain, row.height) for row in listed] == list(zip("CP" * 25, heights, strict=True))


def test_outer_block_row_shows_proposer_block_and_time(browse: Browse) -> None:
    text = browse(listing("outerblock"), q="7", show="C").text
    for shown in (
        str(past.block_id("C", 7)), str(past.node(7 % past.PROPOSERS)), "2026-09-21 14:13:27 UTC",
        ">C-Chain 7 ›</a>",
    ):  # fmt: skip
        assert shown in text, shown
    assert _leads_to(text, "/admin/cchain_app/block/7/change/")
    assert _leads_to(text, "/admin/platform_app/block/7/change/")  # the height of the validators


def test_unsigned_outer_block_is_marked(browse: Browse) -> None:
    assert ">option</span>" in browse(listing("outerblock"), q=str(past.OPTION), show="P").text
    assert (
        ">not signed</span>" in browse(listing("outerblock"), q=str(past.UNSIGNED), show="P").text
    )
    page = browse(detail("outerblock", past.outer_key("P", past.OPTION)))
    assert "without a proposer" in page.text


def test_outer_block_page_links_to_inner_block_neighbours_and_proposer(browse: Browse) -> None:
    text = browse(detail("outerblock", past.outer_key("C", 7))).text
    proposer = past.node(7 % past.PROPOSERS)
    for path in (
        "/admin/cchain_app/block/7/change/",
        "/admin/platform_app/block/6/change/",
        detail("outerblock", past.outer_key("C", 6)),
        detail("outerblock", past.outer_key("C", 8)),
        f"{listing('peer')}?q={proposer}",
        f"{listing('outerblock')}?q={proposer}",
        f"/admin/platform_app/validator/?q={proposer}",
    ):
        assert _leads_to(text, path), path
    for shown in (
        "signed, with an epoch",
        "0x" + past.certificate(1).hex(),
        "0x" + b"signature 7".hex(),
    ):
        assert shown in text, shown


def test_the_first_and_the_last_block_have_one_neighbour(browse: Browse) -> None:
    first = browse(detail("outerblock", past.outer_key("P", 1))).text
    assert "previous" not in first
    assert "next ›" in first
    assert "next ›" not in browse(detail("outerblock", past.outer_key("P", past.BLOCKS))).text


def test_a_page_has_the_id_as_its_address_too(browse: Browse) -> None:
    for key in (past.block_id("P", 2), "0x" + past.block_id("P", 2).hex()):
        text = browse(detail("outerblock", key)).text
        assert _leads_to(text, "/admin/platform_app/block/2/change/")
    assert browse("/admin/platform_app/block/2/change/").status == 200


def test_a_height_finds_the_block_of_each_chain(browse: Browse) -> None:
    assert _found(browse, 9) == [("C", 9), ("P", 9)]
    assert _found(browse, "#9", show="P") == [("P", 9)]


def test_a_block_is_found_by_its_id_among_peers(browse: Browse) -> None:
    wanted = past.block_id("P", 9)
    for text in (wanted, "0x" + wanted.hex()):
        assert _found(browse, text) == [("P", 9)]


def test_a_block_is_found_by_the_id_that_its_own_chain_gives_it(browse: Browse) -> None:
    assert _found(browse, Block.objects.get(height=2).block_id) == [("P", 2)]
    rows.write_chain(3)
    assert _found(browse, "0x" + rows.block_hash(2).hex()) == [("C", 2)]


@pytest.mark.parametrize("chain", ["P", "C"])
def test_outer_blocks_are_found_by_proposer(browse: Browse, chain: str) -> None:
    blocks = OuterBlock.objects.filter(chain=chain, proposer=past.node(2)).order_by("-height")
    expected = [(block.chain, block.height) for block in blocks]
    assert len(expected) > 30
    assert _found(browse, past.node(2), show=chain) == expected
    assert len(_found(browse, past.node(2))) == 50


@pytest.mark.parametrize(
    "text", ["nothing", "0", "9" * 18, str(2**63 - 1), "ab" * 32, past.node(50), "%", "C"], ids=str
)
def test_search_without_match_is_an_empty_list(browse: Browse, text: object) -> None:
    assert _found(browse, text) == []


@pytest.mark.parametrize("key", ["nothing", "0x12", 0, 10**9, past.block_id("P", 10**6)], ids=str)
def test_missing_object_redirects_to_its_list(browse: Browse, key: object) -> None:
    page = browse(detail("outerblock", key))
    assert (page.status, page.response.headers["Location"]) == (302, listing("outerblock"))
