"""Internal calls of transactions in the admin: the call tree, the lists, and contract creators."""

import pytest
from django.test import Client
from django.urls import reverse

from cchain_app import models
from cchain_app.admin import calls as pages
from cchain_app.evm.tracing import Frame, Recording, TraceTimedOut
from cchain_app.selectors import tracing
from cchain_app.services.calls import index_calls
from cchain_app.store import history
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
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
    inner = next(frame for frame in frames_of(made, "inner_revert") if frame.depth == 1)
    assert f">{inner.gas:,}<" in text
    assert f">{inner.gas_used:,}<" in text
    assert "--depth: 1" in text
    assert reverse("admin:cchain_app_account_change", args=[hexed(ADDRESSES["reverter"])]) in text
    assert "SELFDESTRUCT" in browse(page_of(made, "pay_and_destroy")).text


@pytest.mark.node_settings(mining="manual")
def test_page_without_call_index_executes_or_explains(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)
    page = page_of(made, "inner_revert")
    before = browse(page).text
    history.keep_calls_from(made.chain.evm.db, 3)
    while history.delete_calls(made.chain.evm.db, 100):
        pass
    assert not models.Call.objects.exists()
    assert "execution reverted: no" in before
    assert "execution reverted: no" in browse(page).text
    history.keep_states_from(made.chain.evm.db, 2)
    made.chain.forget()
    assert "The state before it was pruned (NODE_HISTORY_STATE)." in browse(page).text


def frames_of(made: TracedChain, name: str) -> tuple[Frame, ...]:
    index = made.index(name)
    recording = Recording(frames=True)
    return tracing.trace_transaction(
        made.chain.evm, made.block, index, recording, time_limit=60
    ).frames


@pytest.mark.node_settings(mining="manual")
def test_a_tree_names_the_function_that_is_called(made, browse) -> None:
    (reverted,) = frames_of(made, "revert")
    assert reverted.input[:4].hex() == "08c379a0"
    transfer = bytes.fromhex("a9059cbb") + words(RECIPIENT, 1)
    sent, _ = made.chain.do(
        to=ADDRESSES["proxy"], value=0, data=words(ADDRESSES["counter"]) + transfer, gas=200_000
    )

    text = browse(detail("transaction", hexed(sent.hash))).text

    assert "transfer" in text
    assert "0x08c379a0" in browse(page_of(made, "revert")).text


@pytest.mark.node_settings(mining="manual")
@pytest.mark.parametrize("written", [True, False])
def test_call_tree_links_to_the_remaining_calls(made, browse, monkeypatch, written) -> None:
    monkeypatch.setattr(pages, "MAX_CALLS", 2)
    if written:
        index_calls(made.chain.evm, seconds=60)

    text = browse(page_of(made, "pay_and_destroy")).text

    assert "The first 2 calls." in text
    link = f'href="{listing("call")}?q={made.hash("pay_and_destroy")}"'
    assert (link in text) == written
    assert ("The others are not indexed yet." in text) != written


@pytest.mark.node_settings(mining="manual")
def test_list_shows_the_height_of_the_index(made, browse) -> None:
    note = "Internal calls: "
    assert f"{note}no rows: NODE_TRACE_INDEX was never on." in browse(listing("call")).text

    index_calls(made.chain.evm, seconds=0)
    assert (
        f"{note}rows up to block 1 of 3; later blocks are missing" in browse(listing("call")).text
    )
    index_calls(made.chain.evm, seconds=60)
    models.CallProgress.objects.update(unrecorded=1_234)
    expected = f"{note}rows up to block 3 of 3, 1,234 transactions not recorded."
    assert expected in browse(listing("call")).text
    assert expected in browse(listing("contractcreation")).text
    assert note not in browse(listing("block")).text


@pytest.mark.node_settings(mining="manual")
def test_page_that_cannot_trace_explains_it(made, browse, monkeypatch) -> None:
    def too_long(*_arguments, **_options):
        raise TraceTimedOut

    monkeypatch.setattr(tracing, "trace_transaction", too_long)

    assert "Tracing it takes longer than a page may" in browse(page_of(made, "create")).text


@pytest.mark.node_settings(mining="manual")
def test_calls_are_listed_by_address_block_and_transaction(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)

    for term in (hexed(ADDRESSES["factory"]), "2", made.hash("create")):
        text = browse(listing("call") + f"?q={term}").text
        assert "CREATE2" in text, term
    assert "CREATE2" not in browse(listing("call") + "?q=1").text


@pytest.mark.node_settings(mining="manual")
def test_call_page_links_to_transaction_and_accounts(made, browse) -> None:
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
def test_contract_page_shows_the_creator(made, browse) -> None:
    index_calls(made.chain.evm, seconds=60)

    text = browse(detail("account", hexed(ADDRESSES["counter"]))).text

    assert reverse("admin:cchain_app_transaction_change", args=[models.row_id(1)]) in text
    assert reverse("admin:cchain_app_account_change", args=[hexed(SENDER)]) in text
