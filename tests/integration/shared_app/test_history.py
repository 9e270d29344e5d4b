"""The history of outputs that move between chains: exports, imports, and imports before their exports."""

import pytest

from chaindb.database import Database
from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID, P_CHAIN_ID, ShortID
from shared_app.models import ChainTransfer, EarlyImport, SharedOutput
from shared_app.store import SharedRows
from utxo.components import UTXO, OutputOwners, TransferOutput

pytestmark = pytest.mark.django_db

X_CHAIN_ID = ID(b"\x0b" * 32)
EXPORT, IMPORT, ASSET = (ID(bytes([number]) * 32) for number in (1, 2, 3))
SENT = UTXO(EXPORT, 4, ASSET, TransferOutput(700, OutputOwners(0, 1, (ShortID(b"\x05" * 20),))))


def apply(chain_id: ID, request: AtomicRequests, height: int) -> None:
    db = Database()
    with db.atomic():
        SharedRows(db).apply(chain_id, [request], height)


def export(height: int) -> None:
    apply(P_CHAIN_ID, AtomicRequests(X_CHAIN_ID, put=(SENT,)), height)


def imports(height: int) -> None:
    request = AtomicRequests(P_CHAIN_ID, remove=(SENT.utxo_id,), importers=(IMPORT,))
    apply(X_CHAIN_ID, request, height)


def row() -> ChainTransfer:
    found: ChainTransfer = ChainTransfer.objects.get()
    assert (found.utxo_id, found.source_chain) == (SENT.utxo_id, P_CHAIN_ID)
    assert found.destination_chain == X_CHAIN_ID
    return found


def test_an_output_has_both_ends_after_its_import() -> None:
    export(7)
    waiting = row()
    assert (waiting.tx_id, waiting.output_index, waiting.asset_id) == (EXPORT, 4, ASSET)
    assert (waiting.amount, waiting.exported_height) == (700, 7)
    assert (waiting.import_tx, waiting.imported_height) == (None, None)
    imports(9)
    assert (row().import_tx, row().imported_height) == (IMPORT, 9)
    assert not SharedOutput.objects.exists()


def test_an_import_before_its_export_ends_with_the_same_row() -> None:
    imports(9)
    early = row()
    assert (early.import_tx, early.imported_height) == (IMPORT, 9)
    assert (early.tx_id, early.amount, early.exported_height) == (None, None, None)
    assert EarlyImport.objects.exists()
    export(7)
    late = ChainTransfer.objects.values().get()
    assert not EarlyImport.objects.exists()
    ChainTransfer.objects.all().delete()
    export(7)
    imports(9)
    assert ChainTransfer.objects.values().get() == late


def test_requests_of_one_peer_are_joined_in_order() -> None:
    first = AtomicRequests(P_CHAIN_ID, remove=(EXPORT,), importers=(IMPORT,))
    second = AtomicRequests(P_CHAIN_ID, put=(SENT,))
    joined = first.followed_by(second)
    assert joined == AtomicRequests(P_CHAIN_ID, (EXPORT,), (SENT,), (IMPORT,))
