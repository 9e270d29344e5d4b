"""Tokens in the admin: pages of lists are read by index, however many rows exist."""

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
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


def test_lists_and_pages_are_read_only(tokens: TokenChain, browse: Browse) -> None:
    note = "Tokens: "
    assert f"{note}empty: NODE_TOKEN_INDEX was never enabled." in browse(listing("token")).text
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


def test_rows_are_found_by_address_and_block(tokens: TokenChain, browse: Browse) -> None:
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


def test_row_links_contain_no_other_link(
    tokens: TokenChain, browse: Browse, rf: RequestFactory
) -> None:
    used(tokens)
    tokens.index()
    own = [model for model in admin.site._registry if model._meta.app_label == "explorer_app"]
    assert {model._meta.model_name for model in own} >= set(LISTS)

    for model in own:
        shown = admin.site._registry[model]
        columns = shown.get_list_display(rf.get("/"))
        for column in shown.get_list_display_links(rf.get("/"), columns):
            for row in model._default_manager.all():
                assert "<a" not in str(getattr(shown, column)(row)), (model, column)


def test_transfer_links_to_its_transaction(tokens: TokenChain, browse: Browse) -> None:
    used(tokens)
    tokens.index()
    transfer = models.TokenTransfer.objects.select_related("transaction").latest("id")
    leads = reverse("admin:cchain_app_transaction_change", args=[transfer.transaction_id])

    for page in (browse(listing("tokentransfer")), browse(page_of(transfer))):
        assert f'<a href="{leads}"' in page.text
        assert str(transfer.transaction.hash) in page.text
        assert len(page.chain_statements) <= 4
