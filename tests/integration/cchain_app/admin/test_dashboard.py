"""The admin's index page: a summary of the chain, and a search box that opens the exact match."""

import pytest
from django.test import Client
from django.urls import reverse

from cchain_app import models
from chaindb import clock
from tests.builders import rows
from tests.integration.cchain_app.admin.conftest import BLOCKS, Browse
from tests.integration.cchain_app.admin.paths import ADMIN, hexed

pytestmark = pytest.mark.sqlite_only

CHAIN_STATEMENTS = 4
MAX_STATEMENTS = 40
JUMP = f"{ADMIN}jump/"


@pytest.mark.usefixtures("chain")
def test_dashboard_shows_head_gas_fee_pool_chain_and_engine(browse: Browse) -> None:
    text = browse(ADMIN).text
    for shown in (
        f'">{BLOCKS}</a>', hexed(rows.block_hash(BLOCKS)), "2026-09-21 14:17:40 UTC", "1.004 Gwei",
        "30 pending", "30 queued", "43112", "local, network 12345", "90 transactions", "5.0 a second",
    ):  # fmt: skip
        assert shown in text


@pytest.mark.usefixtures("chain")
def test_dashboard_shows_pending_bytes_and_rates(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "cchain_now", lambda: rows.GENESIS_TIME + 2 * BLOCKS)
    size = sum(len(item.raw) for item in models.PoolTransaction.objects.all())
    text = browse(ADMIN).text
    for shown in (
        f"30 queued, {size:,} bytes in total",
        '<h4>Transactions a minute</h4><div class="nd-figure">300</div>',
        '<h4>Blocks a minute</h4><div class="nd-figure">30</div>',
        'aria-label="Gas, the last 30 minutes"',
    ):
        assert shown in text, shown


@pytest.mark.usefixtures("chain")
def test_index_page_takes_few_statements(browse: Browse) -> None:
    browse(ADMIN)
    page = browse(ADMIN)
    assert len(page.chain_statements) == CHAIN_STATEMENTS
    assert len(page.statements) <= MAX_STATEMENTS


@pytest.mark.usefixtures("chain")
def test_dashboard_lists_the_latest_blocks_and_transactions(browse: Browse) -> None:
    text = browse(ADMIN).text
    for number in range(BLOCKS, BLOCKS - 10, -1):
        assert hexed(rows.block_hash(number)) in text
    assert hexed(rows.block_hash(BLOCKS - 11)) not in text
    assert hexed(rows.transaction_hash(BLOCKS, 9)) in text


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    ("text", "view", "key"),
    [
        ("7", "block", 7),
        ("#7", "block", 7),
        ("0x7", "block", 7),
        (rows.block_hash(7).hex().upper(), "block", 7),
        (hexed(rows.transaction_hash(7, 4)), "transaction", models.row_id(7, 4)),
        (rows.TOKEN.hex().upper(), "account", hexed(rows.TOKEN)),
        ("12" * 20, "account", "0x" + "12" * 20),
    ],
)
def test_search_box_redirects_to_block_transaction_or_account(
    browse: Browse, text: str, view: str, key: object
) -> None:
    page = browse(JUMP, q=text)
    assert page.response.headers["Location"] == reverse(
        f"admin:cchain_app_{view}_change", args=[key]
    )
    assert page.slow_plans() == []


@pytest.mark.usefixtures("chain")
def test_search_box_redirects_to_a_pending_transaction(browse: Browse) -> None:
    key = models.PoolTransaction.objects.get(hash=rows.waiting_hash(3)).pk
    answer = browse(JUMP, q=hexed(rows.waiting_hash(3))).response
    assert answer.headers["Location"] == reverse(
        "admin:cchain_app_pooltransaction_change", args=[key]
    )


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("text", ["", "hello", "9" * 12, "9" * 40 + "9", "ab" * 32, "<script>"])
def test_empty_panel_is_explained(admin_client: Client, text: str) -> None:
    answer = admin_client.get(JUMP, {"q": text}, follow=True)
    assert answer.redirect_chain == [(ADMIN, 302)]
    shown = answer.content.decode()
    assert "Nothing found for" in shown
    assert "<script>:" not in shown
