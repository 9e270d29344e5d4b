"""What transactions did inside, on pages: the tree, the lists, who created a contract."""

import pytest
from django.test import Client
from django.urls import reverse

from cchain_app import models
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.selectors import tracing
from cchain_app.services.calls import index_calls
from tests.builders.transactions import SENDER
from tests.integration.admin_pages import Browse, browser
from tests.integration.cchain_app.admin.paths import detail, hexed, listing
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, TracedChain, traced_chain
from tests.integration.conftest import Chain, node_settings

__all__ = ["node_settings"]


@pytest.fixture
def made(db: None, node_settings: object) -> TracedChain:
    return traced_chain(Chain())


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "cchain_app")


def page_of(made: TracedChain, name: str) -> str:
    return detail("transaction", models.row_id(2, made.index(name)))


@pytest.mark.node_settings(mining="manual")
@pytest.mark.parametrize("written", [True, False])
def test_a_transactions_page_has_its_call_tree(made, browse, written) -> None:
    if written:
        index_calls(made.chain.evm, seconds=60)

    text = browse(page_of(made, "inner_revert")).text

    assert "execution reverted: no" in text
    assert "--depth: 1" in text
    assert reverse("admin:cchain_app_account_change", args=[hexed(ADDRESSES["reverter"])]) in text
    assert "SELFDESTRUCT" in browse(page_of(made, "pay_and_destroy")).text


@pytest.mark.node_settings(mining="manual")
def test_a_page_that_cannot_trace_says_so(made, browse, monkeypatch) -> None:
    def too_long(*_arguments, **_options):
        raise TraceTimedOut

    monkeypatch.setattr(tracing, "trace_transaction", too_long)

    assert "cannot be traced in the time of a page" in browse(page_of(made, "create")).text


@pytest.mark.node_settings(mining="manual")
def test_calls_are_listed_by_address_block_and_transaction(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)

    for term in (hexed(ADDRESSES["factory"]), "2", made.hash("create")):
        text = browse(listing("call") + f"?q={term}").text
        assert "CREATE2" in text, term
    assert "CREATE2" not in browse(listing("call") + "?q=1").text


@pytest.mark.node_settings(mining="manual")
def test_a_calls_page_leads_to_its_transaction_and_accounts(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)
    call = models.Call.objects.get(type=models.CallType.CREATE2)

    text = browse(detail("call", call.pk)).text

    for path in (
        reverse("admin:cchain_app_transaction_change", args=[call.transaction_id]),
        reverse("admin:cchain_app_account_change", args=[hexed(CREATED)]),
        reverse("admin:cchain_app_account_change", args=[hexed(ADDRESSES["factory"])]),
    ):
        assert f'href="{path}"' in text
    assert "frame 1, depth 1" in text


@pytest.mark.node_settings(mining="manual")
def test_creations_are_listed_alone(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)

    text = browse(listing("contractcreation")).text

    assert "CREATE2" in text
    assert "DELEGATECALL" not in text


@pytest.mark.node_settings(mining="manual")
def test_a_contracts_page_says_who_created_it(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)

    text = browse(detail("account", hexed(ADDRESSES["counter"]))).text

    assert reverse("admin:cchain_app_transaction_change", args=[models.row_id(1)]) in text
    assert reverse("admin:cchain_app_account_change", args=[hexed(SENDER)]) in text
