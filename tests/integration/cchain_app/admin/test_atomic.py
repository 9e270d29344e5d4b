"""Imports and exports of the C-Chain in the admin."""

import pytest
from django.test import Client

from cchain_app.models import AtomicPoolTransaction, AtomicTransaction, DroppedAtomicTransaction
from cchain_app.services import atomic
from platform_app.config import UNIT
from tests.integration.cchain_app.atomic.conftest import Both, both
from tests.integration.platform_app.conftest import nothing_remembered, shared_pchain

__all__ = ["both", "nothing_remembered", "shared_pchain"]

ADMIN = "/admin/cchain_app/"

pytestmark = pytest.mark.django_db(transaction=True)


def text(client: Client, path: str) -> str:
    response = client.get(f"{ADMIN}{path}")
    assert response.status_code == 200, path
    return response.content.decode()


def test_imports_and_exports_are_listed_in_each_state(both: Both, admin_client: Client) -> None:
    both.exported_to_c(5 * UNIT)
    imported = both.make_import()
    block = both.do(imported)
    exported = both.make_export(2 * UNIT)
    later = both.do(exported)
    waiting = both.make_export(UNIT)
    atomic.issue(both.c.evm, waiting)

    page = text(admin_client, "atomictransaction/")
    assert page.index(str(exported.tx_id)) < page.index(str(imported.tx_id))
    assert "ExportTx" in page
    assert f'href="/admin/cchain_app/atomictransaction/{imported.tx_id}/change/"' in page
    for tx, found in ((imported, block), (exported, later)):
        row = AtomicTransaction.objects.get(tx_id=tx.tx_id)
        shown = text(admin_client, f"atomictransaction/{row.pk}/change/")
        assert "nd-json" in shown
        assert f"/search?q={tx.tx_id}" in shown
        listed = text(admin_client, f"atomictransaction/?q={found.number}")
        assert str(tx.tx_id) in listed
        assert str(tx.tx_id) in text(admin_client, f"atomictransaction/?q={tx.tx_id}")
    assert str(imported.tx_id) not in text(admin_client, f"atomictransaction/?q={later.number}")

    pending = AtomicPoolTransaction.objects.get()
    assert str(waiting.tx_id) in text(admin_client, "atomicpooltransaction/")
    assert "Drop" in text(admin_client, f"atomicpooltransaction/{pending.pk}/change/")
    assert atomic.withdraw(both.c.evm, waiting.tx_id, "the operator has dropped it")
    assert not atomic.withdraw(both.c.evm, waiting.tx_id, "the operator has dropped it")
    assert not AtomicPoolTransaction.objects.exists()
    dropped = DroppedAtomicTransaction.objects.get()
    assert "the operator has dropped it" in text(admin_client, "droppedatomictransaction/")
    assert str(waiting.tx_id) in text(
        admin_client, f"droppedatomictransaction/{dropped.pk}/change/"
    )
    assert text(admin_client, "atomictransaction/?q=7")
