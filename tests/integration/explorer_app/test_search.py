"""The search box: each text leads to the one object it denotes, on either chain."""

import re
from http import HTTPStatus

import pytest

from platform_app.apps import platform_chain
from primitives.hexadecimal import checksum_address
from tests.builders import puppet
from tests.builders.transactions import SENDER
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.traced_chain import ADDRESSES, TracedChain, hexed
from tests.integration.explorer_app.token_chain import NOBODY, TokenChain, erc20
from tests.integration.platform_app.conftest import PChain


def led_to(browse: Browse, text: str) -> str:
    response = browse("/search", q=text).response
    assert response.status_code == HTTPStatus.FOUND
    return str(response["Location"])


def test_c_chain_hashes_and_addresses_redirect_to_their_pages(
    made: TracedChain, browse: Browse
) -> None:
    assert made.block is not None
    tx = made.hash("transfer")
    assert led_to(browse, tx) == f"/tx/{tx}"
    assert led_to(browse, tx.removeprefix("0x").upper()) == f"/tx/{tx}"
    assert led_to(browse, hexed(made.block.hash)) == f"/block/{hexed(made.block.hash)}"
    assert led_to(browse, hexed(SENDER)).lower() == f"/address/{hexed(SENDER)}"
    assert "Contract" in browse("/suggest", q=hexed(ADDRESSES["counter"])).text


def test_height_of_both_chains_offers_both(made: TracedChain, browse: Browse) -> None:
    page = browse("/search", q="0")

    assert page.status == HTTPStatus.OK
    assert 'href="/block/0"' in page.text
    assert 'href="/p/block/0"' in page.text
    assert led_to(browse, "2") == "/block/2"


def test_p_chain_ids_redirect_to_their_pages(
    made: TracedChain, pchain: PChain, browse: Browse
) -> None:
    node = str(platform_chain().node_id)
    tip = platform_chain().tip()
    assert led_to(browse, node) == f"/p/validator/{node}"
    assert led_to(browse, node[:12]) == f"/p/validator/{node}"
    assert led_to(browse, str(tip.block_id)) == f"/p/block/{tip.block_id}"
    c_chain = str(pchain.network.c_chain_id)
    assert led_to(browse, c_chain) == f"/p/tx/{c_chain}"
    assert led_to(browse, "11111111111111111111111111111111LpoYY") == "/p/validators"


@pytest.mark.parametrize(
    "text", ["nothing", "0x", "NodeID-", "'; DROP TABLE", "<b>", "9" * 41, "\0"]
)
def test_a_search_without_a_match_shows_the_text_escaped(
    made: TracedChain, browse: Browse, text: str
) -> None:
    page = browse("/search", q=text)

    assert page.status == HTTPStatus.NOT_FOUND
    assert "Nothing found for" in page.text
    assert "<b>”" not in page.text


def test_suggestions_take_few_statements(made: TracedChain, browse: Browse) -> None:
    for text in (made.hash("transfer"), "2", hexed(SENDER), str(platform_chain().node_id)[:12]):
        page = browse("/suggest", q=text)
        assert page.text.count("<li>") == 1
        assert len(page.chain_statements) <= 9
    assert browse("/suggest", q="").text.strip() == ""


def named_tokens(tokens: TokenChain, *names: tuple[str, str]) -> list[str]:
    """Deploy tokens with names and symbols, have them indexed, and return their addresses."""
    answers = (puppet.of_erc20(name=name.encode(), symbol=said.encode()) for name, said in names)
    made = tokens.deploy_many(answers)
    tokens.call_each((token, erc20(NOBODY, SENDER, 1)) for token in made)
    tokens.index()
    return [str(checksum_address(token)) for token in made]


def suggested(browse: Browse, text: str) -> list[str]:
    """Return the addresses that are suggested for a text."""
    page = browse("/suggest", q=text)
    assert page.slow_plans() == []
    assert len(page.chain_statements) <= 9
    return re.findall(r'href="/token/(\w+)"', page.text)


def test_tokens_are_found_by_the_beginnings_of_symbols_and_names(
    tokens: TokenChain, pchain: PChain, browse: Browse
) -> None:
    gold, golden, copy, other, percent = named_tokens(
        tokens, ("Gold Coin", "AU"), ("Golden", "GOLD"), (" ＧＯＬＤ coin", "Q1"), ("Zinc", "ZN"), ("a%", "_x"),
    )  # fmt: skip

    assert suggested(browse, "gold") == [golden, gold, copy]
    assert suggested(browse, " GOLD C") == [gold, copy]
    assert suggested(browse, "zn") == suggested(browse, "ZINC") == [other]
    assert suggested(browse, "a%") == suggested(browse, "_x") == [percent]
    for text in ("%", "__", "old", "g", "golden!", "\\", "\uffff", "z\0"):
        assert suggested(browse, text) == []
    page = browse("/search", q="zin")
    assert page.status == HTTPStatus.OK  # a name alone does not redirect
    assert f'href="/token/{other}"' in page.text
    alike = browse("/search", q="goldcoin").text
    assert alike.index(gold) < alike.index(">lookalike<") < alike.index(f'hex">{copy}')


def test_token_names_are_escaped_shortened_and_ranked_last(
    tokens: TokenChain, pchain: PChain, browse: Browse
) -> None:
    node = str(platform_chain().node_id)
    named_tokens(
        tokens, ("<b>bold", "<b>"), ("long " * 40, "LNG"), ("12", "2"), (node[:12], hexed(SENDER)),
        *((f"same {number}", f"S{number}") for number in range(8)),
    )  # fmt: skip

    for path in ("/suggest", "/search"):
        text = browse(path, q="<b>").text
        assert "<b>" not in text
        assert "&lt;b&gt; &lt;b&gt;bold" in text
        assert "long " * 8 + "…" in browse(path, q="long").text
    assert len(suggested(browse, "same")) == 3
    assert led_to(browse, "2") == "/block/2"
    assert led_to(browse, node[:12]) == f"/p/validator/{node}"
    assert led_to(browse, hexed(SENDER)).lower() == f"/address/{hexed(SENDER)}"
