"""The formats of amounts and shares on pages: rounded in lists, exact on request, and 0 only for 0."""

import re
from typing import Any

import pytest
from django.utils.safestring import SafeString

from explorer_app.templatetags.explorer import (
    account,
    coins,
    gwei,
    share,
    share_of_one,
    token_amount,
    wei,
)

PAGE = {"unit": 10**9, "coin_symbol": "GOLD"}


def shown(html: SafeString) -> str:
    return re.sub(r"<[^>]*>", "", html).strip()


class Token:
    """A token with the fields that amounts need."""

    def __init__(self, decimals: int | None) -> None:
        self.decimals = decimals


@pytest.mark.parametrize(
    ("amount", "in_a_list", "exact"),
    [
        (0, "0", "0"),
        (10**18 + 1, "1", "1.000000000000000001"),
        (10**14, "0.0001", "0.0001"),
        (1, "&lt;0.000001", "0.000000000000000001"),
    ],
)
def test_wei_are_in_coins_and_cut_off_unless_they_are_to_be_exact(
    amount: int, in_a_list: str, exact: str
) -> None:
    assert shown(wei(PAGE, amount)) == f"{in_a_list} GOLD"
    assert shown(wei(PAGE, amount, exact=True)) == f"{exact} GOLD"
    assert shown(wei(PAGE, amount, column=True)) == in_a_list


def test_a_price_of_gas_is_in_gwei() -> None:
    assert shown(gwei(25 * 10**9 + 1)) == "25.000000001 Gwei"
    assert shown(gwei(7, column=True)) == "0.000000007"


def test_a_little_of_the_p_chains_coin_is_not_nothing() -> None:
    assert shown(coins(PAGE, 1)) == "&lt;0.000001 GOLD"
    assert shown(coins(PAGE, 0, column=True)) == "0"
    assert shown(coins(PAGE, 1, exact=True)) == "0.000000001 GOLD"


def test_a_little_of_a_token_is_not_nothing() -> None:
    many: Any = Token(77)
    assert shown(token_amount(5, many)) == "&lt;0.000001"
    assert shown(token_amount(0, many)) == "0"
    assert shown(token_amount(5, many, exact=True)) == "0." + "0" * 76 + "5"
    none: Any = Token(None)
    assert shown(token_amount(5, none)) == "5"


def test_a_small_share_is_not_nothing() -> None:
    assert shown(share(0, 10)) == "0 %"
    assert shown(share(1, 10**9)) == "&lt;0.1 %"
    assert shown(share(1, 8)) == "12.5 %"
    assert shown(share(3, 3)) == "100 %"
    assert shown(share(2**255, 2**256)) == "50 %"
    assert shown(share_of_one(0.00001)) == "&lt;0.1 %"
    assert shown(share_of_one(0.5)) == "50 %"


def test_text_without_address_has_no_link() -> None:
    address = "0x" + "1a" * 20
    assert 'href="/address/' in account({}, address)
    assert "href" not in account({}, address[:-2])
    assert "href" not in account({}, "<b>")
    assert "&lt;b&gt;" in account({}, "<b>")
