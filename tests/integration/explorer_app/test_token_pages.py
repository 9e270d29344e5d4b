"""Pages of tokens: their content, the number of queries, and names of unknown origin shown only as text."""

import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from cchain_app.selectors.blocks import head
from chaindb import indexing
from explorer_app.selectors import token_logs
from explorer_app.selectors import tokens as found
from explorer_app.selectors.ledger import ListTooLong, Span
from explorer_app.tokens import questions
from explorer_app.tokens.events import TokenStandard
from explorer_app.views.tokens import read_id, transfer_rows
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from tests.builders import puppet
from tests.integration.admin_pages import browser
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    OTHER,
    RECIPIENT,
    SENDER,
    TokenChain,
    erc20,
    erc721,
    erc1155,
    used,
)
from tests.integration.platform_app.conftest import PChain

OF_NAMES = 8
"""Statements for the names of all contracts on a page."""
MAX_QUERIES = 8 + OF_NAMES
MAX_OF_ADDRESS = 15 + OF_NAMES
"""An address page also reads the account, its creator, and how much of its lists is indexed."""
FAST = ("SCAN subquery", "SCAN explorer_app_token USING INDEX explorer_token_in_order")
"""A subquery was already limited; a scan of an index that contains all listed rows stops after one page."""


class Browser:
    """Opens pages, and asserts that each takes few queries, which use indexes."""

    def __init__(self) -> None:
        self._open = browser(Client(headers={"host": "localhost"}), "explorer_app")

    def __call__(self, path: str, status: int = 200) -> str:
        """Return a page's text."""
        page = self._open(path)
        assert page.status == status, path
        maximum = MAX_OF_ADDRESS if path.startswith("/address/") else MAX_QUERIES
        assert len(page.statements) <= maximum, page.statements
        assert [plan for plan in page.slow_plans() if not plan.startswith(FAST)] == []
        return page.text


@pytest.fixture
def browse(tokens: TokenChain) -> Browser:
    """A browser of the node with the chain."""
    return Browser()


def text_of(address: bytes) -> str:
    return str(checksum_address(Address(bytes(address))))


def cells(page: str) -> list[list[str]]:
    """Return the rows of a page's table, as text."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page.partition("<tbody>")[2], re.DOTALL)
    return [
        [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
        for row in rows
    ]  # fmt: skip


@pytest.mark.node_settings(token_index="off")
def test_list_without_index_explains_it(tokens: TokenChain, browse: Browser) -> None:
    assert "No tokens yet." in browse("/tokens")
    assert "empty: NODE_TOKEN_INDEX was never enabled" in browse("/tokens")


def test_tokens_are_listed_by_kind(tokens: TokenChain, browse: Browser) -> None:
    used(tokens)
    tokens.index()

    page = browse("/tokens")

    assert [row[1:4] for row in cells(page)] == [
        ["–", "–", "ERC-1155"], ["Cats CAT", "CAT", "ERC-721"], ["Coin CN", "CN", "ERC-20"],
    ]  # fmt: skip
    assert cells(page)[2][4] == "1,000,000"
    assert "rows up to block 8 of 8" in page
    assert [row[2] for row in cells(browse("/tokens?kind=721"))] == ["CAT"]
    assert "No tokens of this kind yet." in browse("/tokens?kind=20&before=1")
    browse("/tokens?kind=5", 404)


def test_lists_continue_page_by_page(tokens: TokenChain, browse: Browser, monkeypatch: Any) -> None:
    made = tokens.deploy_many(puppet.of_erc20(symbol=b"T%d" % number) for number in range(28))
    tokens.call_each((token, erc20(NOBODY, RECIPIENT, 5)) for token in made)
    tokens.call(
        made[0], *(erc20(RECIPIENT, Address(bytes([9, number] * 10)), 1) for number in range(30))
    )
    tokens.index()

    first = browse("/tokens")
    (older,) = re.findall(r'href="(\?before=\d+)" rel="next"', first)
    second = browse(f"/tokens{older}")

    shown = [row[2] for row in cells(first) + cells(second)]
    assert shown == [f"T{number}" for number in reversed(range(28))]
    path = f"/token/{text_of(made[0])}"
    page = browse(path)
    (older,) = re.findall(r'href="(\?before=\d+)" rel="next"', page)
    assert len(cells(page)) == 25
    assert len(cells(browse(f"{path}{older}"))) == 6


def test_a_token_has_transfers_and_holders(tokens: TokenChain, browse: Browser) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(RECIPIENT, 750_000 * 10**6), erc20(NOBODY, RECIPIENT, 10**12))
    tokens.call(coin, puppet.put(OTHER, 250_000 * 10**6), erc20(RECIPIENT, OTHER, 250_000_500_000))
    tokens.index()
    path = f"/token/{text_of(coin)}"

    page = browse(path)

    assert '<bdi class="claimed" title="Coin">Coin</bdi>' in page
    assert [row[3:] for row in cells(page)] == [
        ["0x1111…1111", "→", "0x2222…2222", "250,000.5"], ["mint", "→", "0x1111…1111", "1,000,000"],
    ]  # fmt: skip
    holders = browse(f"{path}?tab=holders")
    assert [row[1:] for row in cells(holders)] == [
        ["750,000", "75 %", "differs"], ["250,000", "25 %", "differs"],
    ]  # fmt: skip
    assert "the indexed transfers add up to 749999500000" in holders
    browse(f"{path}?tab=inventory", 404)
    browse(f"{path}/1", 404)


def test_collection_has_inventory_and_token_pages(tokens: TokenChain, browse: Browser) -> None:
    _, cats, things = used(tokens)
    tokens.call(cats, erc721(SENDER, NOBODY, 1))
    tokens.index()
    path = f"/token/{text_of(cats)}"

    inventory = browse(f"{path}?tab=inventory")

    assert [row[0] for row in cells(inventory)] == ["#2"]
    page = browse(f"{path}/2")
    assert "ipfs://cat" in page
    assert 'href="ipfs' not in page
    assert text_of(RECIPIENT) in page
    assert len(cells(page)) == 2
    assert "burned" in browse(f"{path}/1")
    browse(f"{path}/3", 404)
    browse(f"{path}/x", 404)
    browse(f"{path}/{2**256}", 404)
    of_many = f"/token/{text_of(things)}"
    assert [row[0] for row in cells(browse(f"{of_many}?tab=inventory"))] == []
    item_page = browse(f"{of_many}/7")
    assert "https://x.example/{id}" in item_page
    assert "No holders." in item_page


def test_erc1155_ids_have_separate_balances(tokens: TokenChain, browse: Browser) -> None:
    things = tokens.deploy(puppet.of_erc1155())
    seven, eight = (int.from_bytes(SENDER) + token_id for token_id in (7, 8))
    tokens.call(things, puppet.put(seven, 70), puppet.put(eight, 80))
    tokens.call(things, erc1155(NOBODY, SENDER, 7, 70), erc1155(NOBODY, SENDER, 8, 80))
    tokens.index()
    path = f"/token/{text_of(things)}"

    assert [row[0] for row in cells(browse(f"{path}?tab=inventory"))] == ["#7", "#8"]
    assert [row[0] for row in cells(browse(f"{path}?tab=inventory&after=7"))] == ["#8"]
    assert [row[1:3] for row in cells(browse(f"{path}?tab=holders"))] == [
        ["#8", "80"],
        ["#7", "70"],
    ]
    holders, transfers = browse(f"{path}/7").split("<h2>Transfers</h2>")
    assert [row[1] for row in cells(holders)] == ["70"]
    assert [row[6] for row in cells(transfers)] == ["70 of #7"]


def test_names_are_text_and_never_links(tokens: TokenChain, browse: Browser) -> None:
    name = b"<script>alert(1)</script> visit https://gift.example"
    (coin, copy) = tokens.deploy_many(puppet.of_erc20(name=name, symbol=b"<b>") for _ in range(2))
    tokens.call_each((token, erc20(NOBODY, RECIPIENT, 5)) for token in (coin, copy))
    tokens.index()
    pages = [
        browse("/tokens"),
        browse(f"/token/{text_of(copy)}"),
        browse(f"/token/{text_of(coin)}"),
    ]

    for page in pages:
        assert "<script>alert" not in page
        assert "<b>" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert 'class="claimed wary"' in page
        assert 'href="https://gift' not in page
    assert [page.count(">lookalike<") for page in pages] == [1, 2, 0]


@pytest.mark.parametrize("path", ["/token/0x1", f"/token/0x{'99' * 20}", "/token/x?tab=holders"])
def test_a_contract_that_is_not_a_token_has_no_page(
    tokens: TokenChain, browse: Browser, path: str
) -> None:
    tokens.index()
    browse(path, 404)


def test_images_in_a_uri_are_shown_without_fetching(tokens: TokenChain, browse: Browser) -> None:
    image = b"data:image/png;base64,iVBORw0KGgo="
    cats = puppet.of_erc721()
    cats[questions.uri(0, is_collection=True)[:4]] = puppet.answering(puppet.string(image))
    address = tokens.deploy(cats)
    tokens.call(address, erc721(NOBODY, SENDER, 1))
    tokens.index()

    page = browse(f"/token/{text_of(address)}/1")

    assert f'src="{image.decode()}"' in page


def test_address_page_has_transfers_and_balances(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(SENDER, 3_500_000), erc20(NOBODY, SENDER, 3_500_000))
    tokens.call(coin, erc20(SENDER, SENDER, 1), erc20(SENDER, OTHER, 0))
    tokens.index()
    evm = tokens.chain.evm

    lines = transfer_rows(found.transfers_of(evm, SENDER).rows, SENDER)
    shown = render_to_string("explorer/_transfers.html", {"transfers": lines})

    assert [line.direction for line in lines] == ["out", "self", "in"]
    assert [row[4] for row in cells(shown)] == ["out", "self", "in"]
    assert [row[0].endswith("zero value") for row in cells(shown)] == [True, False, False]
    assert cells(shown)[2][6:] == ["3.5", f"CN {text_of(coin)[:6]}…{text_of(coin)[-4:]}"]
    balances = render_to_string(
        "explorer/_balances.html", {"balances": found.balances_of(evm, SENDER).rows}
    )
    assert [row[1:3] for row in cells(balances)] == [["ERC-20", "3.5"]]
    key = lines[1].transfer.transaction_id
    assert [transfer.value for transfer in found.transfers_in(evm, key)] == [1]
    copy = tokens.deploy(puppet.of_erc20())
    tokens.move(copy, NOBODY, SENDER, 1)
    tokens.index()
    shown = [bool(transfer.contract.is_copy) for transfer in found.transfers_of(evm, SENDER).rows]
    assert shown == [True, False, False, False]
    assert "No token transfers." in render_to_string("explorer/_transfers.html", {"transfers": []})


def test_the_page_of_an_address_leaves_doubtful_transfers_out_on_request(
    tokens: TokenChain, pchain: PChain, browse: Browser
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(SENDER, 3_500_000), erc20(NOBODY, SENDER, 3_500_000))
    tokens.call(coin, erc20(SENDER, OTHER, 0), erc20(OTHER, SENDER, 5))
    tokens.index()

    every, certain = browse(hexed(SENDER)), browse(f"{hexed(SENDER)}&show=confirmed")

    for word in ("zero value", "unconfirmed"):
        assert f">{word}</span>" in every
        assert f">{word}</span>" not in certain
    assert 'href="?tab=tokens&amp;show=confirmed"' in every
    browse(f"{hexed(SENDER)}&show=other", 404)


def hexed(address: bytes) -> str:
    return f"/address/0x{bytes(address).hex()}?tab=tokens"


def test_transfers_of_non_tokens_do_not_slow_an_address_down(
    tokens: TokenChain, pchain: PChain, browse: Browser, monkeypatch: Any
) -> None:
    monkeypatch.setattr(found, "MAX_LOOKED_AT", 4)
    monkeypatch.setattr(token_logs, "MAX_LOOKED_AT", 4)
    coin, spam = tokens.deploy(puppet.of_erc20()), tokens.deploy({})
    tokens.move(coin, NOBODY, RECIPIENT, 1)
    tokens.call(spam, *(erc20(NOBODY, RECIPIENT, value) for value in range(2, 8)))
    tokens.move(coin, NOBODY, RECIPIENT, 8)
    tokens.index()
    evm = tokens.chain.evm

    shown, rest = found.transfers_of(evm, RECIPIENT)
    older = found.transfers_of(evm, RECIPIENT, before=rest)

    assert [transfer.value for transfer in shown] == [8]
    assert [transfer.value for transfer in older.rows] == [1]
    assert older.next_key is None
    assert len(found.transfers_of(evm, RECIPIENT, count=1).rows) == 1
    (link,) = re.findall(
        r'href="(\?tab=tokens&amp;before=\d+)" rel="next"', browse(hexed(RECIPIENT))
    )
    assert f"before={rest}" in link
    span = Span(0, 9, 0, 2, descending=True)
    with pytest.raises(ListTooLong):
        token_logs.transfers(evm, TokenStandard.ERC20, RECIPIENT, None, span)
    (transfer,) = token_logs.transfers(
        evm, TokenStandard.ERC20, RECIPIENT, None, span._replace(maximum=1)
    )
    assert transfer.value == 8
    upwards = span._replace(descending=False)
    with pytest.raises(ListTooLong):
        token_logs.transfers(evm, TokenStandard.ERC20, None, spam, upwards)
    (transfer,) = token_logs.transfers(
        evm, TokenStandard.ERC20, RECIPIENT, None, upwards._replace(maximum=1)
    )
    assert transfer.value == 1
    assert (
        len(
            token_logs.transfers(
                evm, TokenStandard.ERC20, RECIPIENT, None, upwards._replace(last=3)
            )
        )
        == 1
    )


def test_balances_of_an_address_are_chosen_and_paged_by_the_database(
    tokens: TokenChain, pchain: PChain, browse: Browser, monkeypatch: Any
) -> None:
    answers = [puppet.of_erc20(), puppet.of_erc721(), {}, puppet.of_erc20(), puppet.of_erc721()]
    made = tokens.deploy_many(answers)
    tokens.call_each((token, puppet.put(RECIPIENT, 5)) for token in made)
    moves = [erc20 if place in {0, 2, 3} else erc721 for place in range(5)]
    tokens.call_each(
        (token, move(NOBODY, RECIPIENT, 5)) for token, move in zip(made, moves, strict=True)
    )
    tokens.index()
    evm = tokens.chain.evm

    def held(**options: Any) -> list[bytes]:
        return [
            bytes(balance.contract_id)
            for balance in found.balances_of(evm, RECIPIENT, **options).rows
        ]

    coins, cats = sorted([made[0], made[3]]), sorted([made[1], made[4]])
    assert held() == sorted(coins + cats)
    assert held(kinds=[TokenStandard.ERC20], count=1) == coins[:1]
    assert held(kinds=[TokenStandard.ERC20], first=1, count=1) == coins[1:]
    assert held(kinds=[TokenStandard.ERC721, TokenStandard.ERC1155]) == cats
    monkeypatch.setattr(found, "MAX_LOOKED_AT", 2)
    pages, after = [], b""
    while True:
        page = found.balances_of(evm, RECIPIENT, after=after)
        pages.append(page.rows)
        if page.next_key is None:
            break
        after = page.next_key
    assert [bytes(balance.contract_id) for page in pages for balance in page] == sorted(
        coins + cats
    )
    assert len(pages) == 3
    first = browse(hexed(RECIPIENT))
    (link,) = re.findall(r'href="(\?tab=tokens&amp;held=\w+)" rel="next"', first)
    second = browse(f"{hexed(RECIPIENT).partition('?')[0]}{link.replace('&amp;', '&')}")
    assert 'href="?tab=tokens">First' in second
    browse(f"{hexed(RECIPIENT)}&held=x")


def test_counts_are_capped(tokens: TokenChain, monkeypatch: Any) -> None:
    monkeypatch.setattr(found, "MAX_COUNTED", 3)
    coin = tokens.deploy(puppet.of_erc20())
    holders = [Address(bytes([9, number] * 10)) for number in range(5)]
    tokens.call(coin, *(puppet.put(holder, 1) for holder in holders))
    tokens.call(coin, *(erc20(NOBODY, holder, 1) for holder in holders))
    tokens.index()
    evm = tokens.chain.evm
    token = found.token(evm, coin)
    assert token is not None

    assert found.count_transfers(evm, token) == found.count_holders(evm, token) == 4
    assert [len(found.holders(evm, token, first=start)) for start in (0, 2, 3, 5)] == [3, 1, 0, 0]


def test_ids_in_addresses_of_pages_are_numbers_of_256_bits() -> None:
    assert read_id("0") == 0
    assert read_id(str(2**256 - 1)) == 2**256 - 1
    assert [read_id(text) for text in (None, "", "-1", "x", "²", "9" * 79, str(2**256))] == [
        None
    ] * 7


def test_pages_after_a_receipt_show_its_block(
    tokens: TokenChain, pchain: PChain, client: Client
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(RECIPIENT, 30))
    tokens.move(coin, NOBODY, RECIPIENT, 30)

    token = client.get(f"/token/0x{coin.hex()}", {"tab": "holders"}).text
    assert cells(token)[0][1] == "0.00003"
    tokens.move(coin, RECIPIENT, OTHER, 7)
    (moved, minted) = cells(client.get(f"/token/0x{coin.hex()}").text)
    assert (moved[-1], minted[-1]) == ("0.000007", "0.00003")


def test_page_shows_the_height_of_an_index_behind(
    tokens: TokenChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    coin, *_ = used(tokens)
    tokens.index()
    tokens.chain.mine()
    monkeypatch.setattr(indexing, "PATIENCE", 0.0)
    behind = "rows up to block 8 of 9; later blocks are missing"

    assert behind in client.get("/tokens").text
    assert behind in client.get(f"/token/0x{coin.hex()}").text
    unknown = client.get(f"/token/0x{OTHER.hex()}")
    assert (unknown.status_code, behind in unknown.text) == (404, True)


def test_a_page_shows_the_state_of_the_head(tokens: TokenChain, browse: Browser) -> None:
    used(tokens)
    tokens.index()

    assert f"rows up to block 8 of {head(tokens.chain.evm).number}" in browse("/tokens")
    assert [row.kind for row in found.tokens(tokens.chain.evm, TokenStandard.ERC20)] == [20]
