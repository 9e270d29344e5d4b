"""Outputs that another chain exports to one of this node's chains, written as that chain's acceptance writes them."""

from collections.abc import Iterable

from chaindb.database import Database
from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID, P_CHAIN_ID
from shared_app.store import SharedRows
from utxo.components import UTXO


def receive(
    db: Database,
    source_chain: ID,
    utxos: Iterable[UTXO],
    height: int,
    destination: ID = P_CHAIN_ID,
) -> None:
    """Write outputs that a chain exported to another one, by default to the P-Chain; `height` is the exporter's."""
    with db.atomic():
        SharedRows(db).apply(source_chain, [AtomicRequests(destination, put=tuple(utxos))], height)
