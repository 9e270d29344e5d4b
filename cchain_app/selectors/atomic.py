"""Atomic transactions for clients: their status and bytes, and the outputs that can be imported."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from cchain_app.chain import EvmChain
from cchain_app.store import atomic as atomic_rows
from cchain_app.store.atomic import StoredTx
from primitives.ids import ID, ShortID
from shared_app.paging import UtxoCursor, UtxoPage
from shared_app.selectors import waiting_outputs


class AtomicStatus(StrEnum):
    """The status of an atomic transaction, as clients get it."""

    UNKNOWN = "Unknown"
    DROPPED = "Dropped"
    PROCESSING = "Processing"
    ACCEPTED = "Accepted"


def find(chain: EvmChain, tx_id: ID) -> StoredTx | None:
    """Return an accepted, pending or dropped transaction; None: it is unknown."""
    return atomic_rows.find(chain.db, tx_id)


def status_of(stored: StoredTx | None) -> AtomicStatus:
    """Return the status of a transaction that `find` has returned."""
    if stored is None:
        return AtomicStatus.UNKNOWN
    if stored.block_number is not None:
        return AtomicStatus.ACCEPTED
    return AtomicStatus.PROCESSING if stored.reason is None else AtomicStatus.DROPPED


def newest_ids(chain: EvmChain, limit: int) -> list[ID]:
    """Return the IDs of pending transactions, newest last."""
    return atomic_rows.newest(chain.db, limit)


def count(chain: EvmChain) -> int:
    """Return the number of pending transactions."""
    return atomic_rows.count(chain.db)


def raws_of(chain: EvmChain, tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return those of the transactions that are pending, as signed bytes."""
    return atomic_rows.raws_of(chain.db, tx_ids)


def importable(
    chain: EvmChain,
    addresses: Iterable[ShortID],
    *,
    source: ID,
    after: UtxoCursor | None,
    limit: int,
) -> UtxoPage:
    """Return a page of the outputs that another chain has exported to this one; see `waiting_outputs`.

    On a chain of coreth they have the reference's order.
    """
    return waiting_outputs(
        chain.db,
        addresses,
        destination=chain.blockchain_id,
        source=source,
        after=after,
        limit=limit,
        newest_first=chain.is_of_coreth,
    )
