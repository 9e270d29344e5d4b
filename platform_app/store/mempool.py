"""Transactions that wait for a block, by price or by arrival, and those dropped recently.

For an addition that depends on an earlier read, the caller holds `Lock.PCHAIN_MEMPOOL` around both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from chaindb.database import Database
from platform_app import models
from platform_app.store import rows
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.codec import parse
from primitives.ids import ID

DROPPED = 64
"""The number of dropped transactions that are kept (pchain.md 5.5)."""

_TX = ("tx_id", "kind", "size", "received_at", "gas_price", "raw")
_DROPPED = ("tx_id", "reason", "dropped_at")
_BATCH = 256
_PREFETCHED = 64
"""Transactions whose outputs are read together; a block seldom includes more than a few hundred."""
_ROWS_OF_TX = (
    ("platform_app_mempoolinput", "waiting_id"),
    ("platform_app_mempooltx", "tx_id"),
)

_IS_EMPTY = "SELECT id FROM platform_app_mempooltx LIMIT 1"
_RAWS = "SELECT raw FROM platform_app_mempooltx WHERE tx_id IN ({keys})"
_SIZE = "SELECT COALESCE(SUM(size), 0) FROM platform_app_mempooltx"
_OLDEST = "SELECT id, raw FROM platform_app_mempooltx WHERE id > %s ORDER BY id LIMIT %s"
_DEAREST = """
SELECT id, raw, gas_price FROM platform_app_mempooltx
WHERE gas_price IS NOT NULL AND (gas_price < %s OR (gas_price = %s AND id > %s))
ORDER BY gas_price DESC, id LIMIT %s
"""
_UNPRICED = """
SELECT id, raw FROM platform_app_mempooltx WHERE gas_price IS NULL AND id > %s ORDER BY id LIMIT %s
"""
_ABOVE_ANY_PRICE = 2.0**65
_KNOWN = "SELECT tx_id FROM platform_app_mempooltx WHERE tx_id IN ({keys})"
_SPENDERS = "SELECT utxo_id, waiting_id FROM platform_app_mempoolinput WHERE utxo_id IN ({keys})"
_FORGET = """
DELETE FROM platform_app_droppedtx
WHERE id <= (SELECT id FROM platform_app_droppedtx ORDER BY id DESC LIMIT 1 OFFSET %s)
"""


def add(
    db: Database, txs: Iterable[Tx], received_at: int, prices: Mapping[ID, float] | None = None
) -> None:
    """Write admitted transactions, in order of arrival, and delete the records of their earlier drops.

    Args:
        db: The chain's database.
        txs: The transactions.
        received_at: Unix seconds.
        prices: What each burns per gas, where `dearest_first` orders by it.
    """
    prices = prices or {}
    admitted = list(txs)
    forget_dropped(db, (tx.tx_id for tx in admitted))
    written = (
        (tx.tx_id, rows.kind_of(tx), len(tx.raw), received_at, prices.get(tx.tx_id), tx.raw)
        for tx in admitted
    )
    db.insert(models.MempoolTx, _TX, written)
    spent = ((tx_input.utxo_id, tx.tx_id) for tx in admitted for tx_input in rows.inputs_of(tx))
    db.insert(models.MempoolInput, ("utxo_id", "waiting"), spent)


def remove(db: Database, tx_ids: Iterable[ID]) -> None:
    """Delete transactions that are no longer pending."""
    keys = list(tx_ids)
    for start in range(0, len(keys), _BATCH):
        part = keys[start : start + _BATCH]
        marks = ", ".join(["%s"] * len(part))
        for table, column in _ROWS_OF_TX:
            db.execute(f"DELETE FROM {table} WHERE {column} IN ({marks})", part)  # noqa: S608  # names are above


def is_empty(db: Database) -> bool:
    """Return whether the mempool is empty."""
    return db.row(_IS_EMPTY) is None


def size(db: Database) -> int:
    """Return the total bytes of the pending transactions."""
    return int(db.rows(_SIZE)[0][0])


def oldest_first(db: Database) -> Iterator[Tx]:
    """Yield the pending transactions in order of arrival, reading rows only as they are consumed."""
    place = 0
    while batch := db.rows(_OLDEST, (place, _BATCH)):
        for _, raw in batch:
            yield parse(bytes(raw))
        place = batch[-1][0]


def dearest_first(db: Database) -> Iterator[Tx]:
    """Yield the pending transactions by price, those with equal prices and those without a price by arrival.

    Those without a price come last. Rows are read only as they are consumed.
    """
    place: tuple[float, int] = (_ABOVE_ANY_PRICE, 0)
    while batch := db.rows(_DEAREST, (place[0], *place, _BATCH)):
        for _, raw, _ in batch:
            yield parse(bytes(raw))
        last, _, price = batch[-1]
        place = (price, last)
    latest = 0
    while unpriced := db.rows(_UNPRICED, (latest, _BATCH)):
        for _, raw in unpriced:
            yield parse(bytes(raw))
        latest = unpriced[-1][0]


def prefetched(db: Database, state: DatabaseState, *, by_price: bool = False) -> Iterator[Tx]:
    """Yield the pending transactions, reading the outputs they spend in batches.

    Args:
        db: The chain's database.
        state: The accepted state, which caches the outputs.
        by_price: Whether the highest price comes first; else the oldest one.
    """
    pending = dearest_first(db) if by_price else oldest_first(db)
    while batch := list(islice(pending, _PREFETCHED)):
        state.prefetch(batch)
        yield from batch


def waiting(db: Database, tx_ids: Sequence[ID]) -> list[Tx]:
    """Return those of the transactions that are pending."""
    return [parse(bytes(raw)) for (raw,) in db.rows_by_keys(_RAWS, tx_ids)]


def known(db: Database, tx_ids: Sequence[ID]) -> set[ID]:
    """Return the IDs of those of the transactions that are pending."""
    return {ID(bytes(tx_id)) for (tx_id,) in db.rows_by_keys(_KNOWN, tx_ids)}


def spenders(db: Database, utxo_ids: Sequence[ID]) -> dict[ID, ID]:
    """Return the pending transactions that spend these outputs of this chain or shared memory."""
    spending = db.rows_by_keys(_SPENDERS, utxo_ids)
    return {ID(bytes(utxo_id)): ID(bytes(tx_id)) for utxo_id, tx_id in spending}


def drop(db: Database, refused: Iterable[tuple[ID, str]], dropped_at: int) -> None:
    """Delete transactions that cannot get into a block, and record the reasons of the most recent ones."""
    reasons = dict(refused)
    if not reasons:
        return
    remove(db, reasons)
    forget_dropped(db, reasons)
    dropped = ((tx_id, reason, dropped_at) for tx_id, reason in reasons.items())
    db.insert(models.DroppedTx, _DROPPED, dropped)
    db.execute(_FORGET, (DROPPED,))


def forget_dropped(db: Database, tx_ids: Iterable[ID]) -> None:
    """Delete the records that transactions were dropped."""
    db.delete(models.DroppedTx, ("tx_id",), ((tx_id,) for tx_id in tx_ids))
