"""Tokens in the admin: windows whose lists are read by their indexes, however many rows there are."""

import pytest
from django.test import Client
from django.urls import reverse

from explorer_app import models
from primitives.hexadecimal import encode_data
from tests.builders import puppet
from tests.integration.admin_pages import Browse, browser
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    OTHER,
    RECIPIENT,
    TokenChain,
    erc20,
    used,
)

LISTS = ("token", "tokentransfer", "tokenbalance")


@pytest.fixture
def browse(admin_client: Client, tokens: TokenChain) -> Browse:
    return browser(admin_client, "explorer_app")


def listing(model: str) -> str:
    return reverse(f"admin:explorer_app_{model}_changelist")


def page_of(row: object) -> str:
    assert isinstance(row, models.Token | models.TokenTransfer | models.TokenBalance)
    return reverse(f"admin:explorer_app_{row._meta.model_name}_change", args=[row.pk])


def test_lists_and_pages_show_rows_and_change_none(tokens: TokenChain, browse: Browse) -> None:
    note = "Tokens: "
    assert f"{note}no rows: NODE_TOKEN_INDEX was never on." in browse(listing("token")).text
    coin, *_ = used(tokens)
    tokens.index()
    sizes = []

    for model in LISTS:
        page = browse(listing(model))
        assert f"{note}rows up to block 8 of 8." in page.text
        assert page.slow_plans() == []
        sizes.append(len(page.rows))
        text = browse(page_of(page.rows[0])).text
        assert 'name="_save"' not in text
        assert 'class="deletelink"' not in text
        assert browse(reverse(f"admin:explorer_app_{model}_add")).status == 403
    assert sizes == [3, 7, 6]
    text = browse(page_of(models.Token.objects.get(address=coin))).text
    assert "1,000,000,000,000" in text
    assert "not yet" not in text


def test_they_are_found_by_address_and_block(tokens: TokenChain, browse: Browse) -> None:
    coin, *_ = used(tokens)
    tokens.index()
    found = {
        (model, term): browse(listing(model), q=text)
        for model in LISTS
        for term, text in (
            ("coin", encode_data(coin)), ("holder", encode_data(RECIPIENT)), ("block", "5"),
            ("hash", "0x" + "ab" * 32), ("high", str(2**62)),
        )
    }  # fmt: skip

    sizes = {key: len(page.rows) for key, page in found.items()}
    assert {key: size for key, size in sizes.items() if size} == {
        ("token", "coin"): 1,
        ("tokentransfer", "coin"): 1,
        ("tokentransfer", "holder"): 3,
        ("tokentransfer", "block"): 2,
        ("tokenbalance", "coin"): 1,
        ("tokenbalance", "holder"): 3,
    }
    assert [plan for page in found.values() for plan in page.slow_plans()] == []


def test_names_are_escaped(tokens: TokenChain, browse: Browse) -> None:
    coin = tokens.deploy(puppet.of_erc20(name=b"<script>alert(1)</script>"))
    tokens.call(coin, erc20(NOBODY, OTHER, 1))
    tokens.index()

    for path in (listing("token"), page_of(models.Token.objects.get())):
        text = browse(path).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)" in text
