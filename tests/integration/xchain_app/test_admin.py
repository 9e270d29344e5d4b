"""The X-Chain's admin pages, on a recorded chain with all kinds of transactions."""

from collections.abc import Iterator

import pytest
from django.db.models import Model
from django.test import Client

from nodeproject.apps import this_node
from primitives.ids import ShortID
from tests.builders.xchain import world_chain, x_chain
from tests.conformance.xchain_vectors import document, raw_bytes, world
from tests.integration.xchain_app.replaying import replayed
from xchain_app.apps import use
from xchain_app.models import (
    XAsset,
    XBlock,
    XDroppedTx,
    XMempoolTx,
    XOutput,
    XOutputKind,
    XTransaction,
    XTxKind,
)
from xchain_app.services import mempool
from xchain_app.services.runtime import AvmRuntime
from xchain_app.txs.codec import parse

pytestmark = pytest.mark.django_db(transaction=True)

ADMIN = "/admin/xchain_app/"


@pytest.fixture
def runtime() -> Iterator[AvmRuntime]:
    made = AvmRuntime(x_chain())
    use(lambda: made)
    yield made
    use(lambda: this_node().avm_runtime)


def text(client: Client, path: str) -> str:
    response = client.get(f"{ADMIN}{path}")
    assert response.status_code == 200, path
    return response.content.decode()


def test_lists_and_pages_of_all_rows(admin_client: Client, runtime: AvmRuntime) -> None:
    replayed(runtime.chain)
    models: tuple[type[Model], ...] = (XBlock, XTransaction, XAsset, XOutput)
    for model in models:
        name = model.__name__.lower()
        assert text(admin_client, f"{name}/")
        for row in model._default_manager.all():
            assert text(admin_client, f"{name}/{row.pk}/change/")
    for kind in XTxKind:
        assert XTransaction.objects.filter(kind=kind).exists()
    kinds = set(XOutput.objects.values_list("kind", flat=True))
    assert {XOutputKind.COINS, XOutputKind.MINT_RIGHT, XOutputKind.COLLECTIBLE} <= kinds


def test_rows_are_found_by_their_identifiers(admin_client: Client, runtime: AvmRuntime) -> None:
    chain = runtime.chain
    replayed(chain)
    output = XOutput.objects.filter(spent_by=None, kind=XOutputKind.COLLECTIBLE).first()
    assert output is not None
    owner = chain.db.rows(
        "SELECT address FROM xchain_app_xowner WHERE utxo_id = %s", (output.utxo_id,)
    )
    address = chain.address(ShortID(bytes(owner[0][0])))
    for term in (output.utxo_id, output.tx_id, output.asset_id, address):
        assert str(output.utxo_id) in text(admin_client, f"xoutput/?q={term}")
    assert "/admin/xchain_app/xtransaction/" in text(admin_client, "xtransaction/?q=3")


def test_a_payload_is_shown_as_text_only(admin_client: Client) -> None:
    made = AvmRuntime(world_chain())
    use(lambda: made)
    try:
        row = XOutput.objects.filter(kind=XOutputKind.COLLECTIBLE).first()
        assert row is not None
        XOutput.objects.filter(pk=row.pk).update(payload=b"<script>alert(1)</script>")
        page = text(admin_client, f"xoutput/{row.utxo_id}/change/")
    finally:
        use(lambda: this_node().avm_runtime)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


def test_the_operator_drops_a_pending_transaction(admin_client: Client) -> None:
    made = AvmRuntime(world_chain())
    use(lambda: made)
    cases = {case["id"]: case for case in document("pool")["cases"]}
    try:
        tx = parse(raw_bytes(cases["pool/001"]["steps"][0]["tx"]))
        wrong = parse(raw_bytes(cases["pool/008"]["tx"]))
        mempool.issue(made.chain, [tx, wrong], now=world().clock)
        assert "wrong signature" in text(admin_client, "xdroppedtx/")
        row = XMempoolTx.objects.get()
        assert text(admin_client, f"xmempooltx/{row.pk}/change/")
        assert XDroppedTx.objects.get().tx_id == wrong.tx_id
        assert mempool.withdraw(made.chain, tx.tx_id)
        assert not mempool.withdraw(made.chain, tx.tx_id)
    finally:
        use(lambda: this_node().avm_runtime)
    assert not XMempoolTx.objects.exists()
