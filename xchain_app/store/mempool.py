"""Transactions that wait for a block, first in, first out, and those refused since the last block.

For an addition that depends on an earlier read, the caller holds `Lock.XCHAIN_MEMPOOL` around both.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from chaindb.database import Database
from primitives.ids import ID
from xchain_app import models
from xchain_app.store import rows
from xchain_app.store.state import XDatabaseState
from xchain_app.txs.base import AvmTx, conflict_keys
from xchain_app.txs.codec import parse

DROPPED: Final = 64
"""The number of refused transactions that are kept (xchain.md 13)."""

_TX = ("tx_id", "kind", "size", "received_at", "raw")
_DROPPED = ("tx_id", "reason", "dropped_at")
_BATCH = 256
_PREFETCHED = 64
"""Transactions whose objects are read together."""

_IS_EMPTY = "SELECT id FROM xchain_app_xmempooltx LIMIT 1"
_RAWS = "SELECT tx_id, raw FROM xchain_app_xmempooltx WHERE tx_id IN ({keys})"
_SIZE = "SELECT COALESCE(SUM(size), 0) FROM xchain_app_xmempooltx"
_COUNT = "SELECT COUNT(*) FROM xchain_app_xmempooltx"
_OLDEST = "SELECT id, raw FROM xchain_app_xmempooltx WHERE id > %s ORDER BY id LIMIT %s"
_NEWEST = "SELECT tx_id FROM xchain_app_xmempooltx ORDER BY id DESC LIMIT %s"
_SPENDERS = "SELECT utxo_id, waiting_id FROM xchain_app_xmempoolinput WHERE utxo_id IN ({keys})"
_REASONS = "SELECT tx_id, reason FROM xchain_app_xdroppedtx WHERE tx_id IN ({keys})"
_FORGET = """
DELETE FROM xchain_app_xdroppedtx
WHERE id <= (SELECT id FROM xchain_app_xdroppedtx ORDER BY id DESC LIMIT 1 OFFSET %s)
"""
_FORGET_ALL = "DELETE FROM xchain_app_xdroppedtx"


def add(db: Database, txs: Iterable[AvmTx], received_at: int) -> None:
    """Write admitted transactions, in order of arrival, and delete the reasons of their earlier refusals."""
    admitted = list(txs)
    _forget(db, (tx.tx_id for tx in admitted))
    db.insert(
        models.XMempoolTx,
        _TX,
        ((tx.tx_id, rows.kind_of(tx), len(tx.raw), received_at, tx.raw) for tx in admitted),
    )
    keys = ((key, tx.tx_id) for tx in admitted for key in dict.fromkeys(conflict_keys(tx.unsigned)))
    db.insert(models.XMempoolInput, ("utxo_id", "waiting"), keys)


def remove(db: Database, tx_ids: Iterable[ID]) -> None:
    """Delete transactions that are no longer pending."""
    keys = list(tx_ids)
    db.delete(models.XMempoolInput, ("waiting",), ((key,) for key in keys))
    db.delete(models.XMempoolTx, ("tx_id",), ((key,) for key in keys))


def is_empty(db: Database) -> bool:
    """Return whether the mempool is empty."""
    return db.row(_IS_EMPTY) is None


def size(db: Database) -> int:
    """Return the total bytes of the pending transactions."""
    return int(db.rows(_SIZE)[0][0])


def count(db: Database) -> int:
    """Return the number of pending transactions."""
    return int(db.rows(_COUNT)[0][0])


def oldest_first(db: Database) -> Iterator[AvmTx]:
    """Yield the pending transactions in order of arrival, reading rows only as they are consumed."""
    place = 0
    while batch := db.rows(_OLDEST, (place, _BATCH)):
        for _, raw in batch:
            yield parse(bytes(raw))
        place = batch[-1][0]


def prefetched(db: Database, state: XDatabaseState) -> Iterator[AvmTx]:
    """Yield the pending transactions in order of arrival, reading the objects that they need in batches.

    Args:
        db: The chain's database.
        state: The accepted state, which caches the objects.
    """
    pending = oldest_first(db)
    while batch := list(islice(pending, _PREFETCHED)):
        state.prefetch(batch)
        yield from batch


def newest(db: Database, limit: int) -> list[ID]:
    """Return the IDs of the latest pending transactions, in order of arrival."""
    return [ID(bytes(tx_id)) for (tx_id,) in reversed(db.rows(_NEWEST, (limit,)))]


def raws(db: Database, tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return the bytes of those of the transactions that are pending."""
    return {ID(bytes(tx_id)): bytes(raw) for tx_id, raw in db.rows_by_keys(_RAWS, tx_ids)}


def spenders(db: Database, utxo_ids: Sequence[ID]) -> dict[ID, ID]:
    """Return the pending transactions that spend these outputs of this chain or shared memory."""
    spending = db.rows_by_keys(_SPENDERS, utxo_ids)
    return {ID(bytes(utxo_id)): ID(bytes(tx_id)) for utxo_id, tx_id in spending}


def reasons(db: Database, tx_ids: Sequence[ID]) -> dict[ID, str]:
    """Return why transactions were refused since the last accepted block."""
    return {ID(bytes(tx_id)): reason for tx_id, reason in db.rows_by_keys(_REASONS, tx_ids)}


def drop(db: Database, refused: Iterable[tuple[ID, str]], dropped_at: int) -> None:
    """Delete transactions that cannot get into a block, and record the reasons of the most recent ones."""
    found = dict(refused)
    if not found:
        return
    remove(db, found)
    _forget(db, found)
    dropped = ((tx_id, reason, dropped_at) for tx_id, reason in found.items())
    db.insert(models.XDroppedTx, _DROPPED, dropped)
    db.execute(_FORGET, (DROPPED,))


def forget_reasons(db: Database) -> None:
    """Delete all reasons: a new block may have removed their causes."""
    db.execute(_FORGET_ALL)


def _forget(db: Database, tx_ids: Iterable[ID]) -> None:
    db.delete(models.XDroppedTx, ("tx_id",), ((tx_id,) for tx_id in tx_ids))
