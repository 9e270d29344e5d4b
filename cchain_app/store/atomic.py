"""Rows of atomic transactions: of accepted blocks with their withdrawals, of the pool, and of those that were dropped."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from cchain_app import models
from cchain_app.atomic.fees import burned, gas_used, output_amount
from cchain_app.atomic.transactions import (
    AtomicTx,
    UnsignedImportTx,
    read_payload,
    requests_of,
)
from cchain_app.blocks.accepted import AcceptedBlock
from chaindb.database import Database, Row, SqlQuery
from chaindb.fields import row_id
from chainvm.shared_memory import SharedMemory
from primitives.evm import Address
from primitives.ids import ID

_ACCEPTED = (
    "tx_id", "block_number", "index", "kind", "peer_chain", "amount", "burned", "gas", "raw",
    "position",
)  # fmt: skip
_WITHDRAWAL = ("index", "block_number", "validator_index", "address", "amount_gwei", "tx_id")
_WAITING = ("tx_id", "price", "received_at", "raw")
_DROPPED = ("tx_id", "reason", "dropped_at", "raw")

MAX_DROPPED: Final = 50
"""Dropped transactions that are kept, as in the reference."""

_OFFERED: Final = 64
"""Maximum number of transactions from which those of a block are chosen: more than fit into one."""

BEST_QUERY: Final[SqlQuery] = (
    "SELECT raw FROM cchain_app_atomicpooltransaction ORDER BY price DESC, tx_id LIMIT %s",
    (_OFFERED,),
)
"""The query of `best`."""
_CHEAPEST = (
    "SELECT tx_id, price FROM cchain_app_atomicpooltransaction ORDER BY price, id DESC LIMIT 1"
)
_COUNT = "SELECT count(*) FROM cchain_app_atomicpooltransaction"
_RIVALS = """
SELECT DISTINCT k.tx_id, p.price FROM cchain_app_atomicpoolkey k
JOIN cchain_app_atomicpooltransaction p ON p.tx_id = k.tx_id WHERE k.key IN ({keys})
"""
_RAWS = "SELECT tx_id, raw FROM cchain_app_atomicpooltransaction WHERE tx_id IN ({keys})"
_NEWEST = "SELECT tx_id FROM cchain_app_atomicpooltransaction ORDER BY id DESC LIMIT %s"
_ACCEPTED_TX = "SELECT block_number, raw FROM cchain_app_atomictransaction WHERE tx_id = %s"
_WAITING_TX = "SELECT raw FROM cchain_app_atomicpooltransaction WHERE tx_id = %s"
_DROPPED_TX = "SELECT raw, reason FROM cchain_app_droppedatomictransaction WHERE tx_id = %s"
_LAST_WITHDRAWAL = 'SELECT max("index") FROM cchain_app_withdrawal'
_ABOVE = "SELECT max(block_number) FROM cchain_app_atomictransaction WHERE block_number > %s"
_OLD_DROPPED = """
DELETE FROM cchain_app_droppedatomictransaction WHERE id <= (
  SELECT id FROM cchain_app_droppedatomictransaction ORDER BY id DESC LIMIT 1 OFFSET %s
)
"""


class WaitingTx(NamedTuple):
    """A pending transaction and its effective gas price."""

    tx_id: ID
    price: int
    """Wei."""


class StoredTx(NamedTuple):
    """A transaction as stored in the rows."""

    raw: bytes
    block_number: int | None = None
    """None: it is in no block."""
    reason: str | None = None
    """Why it was dropped; None: it was not."""


def commit(
    db: Database,
    blocks: Iterable[AcceptedBlock],
    chain_id: ID,
    asset_id: ID,
    shared: SharedMemory,
    *,
    has_fixed_gas: Callable[[int], bool],
) -> list[AtomicTx]:
    """Write the atomic transactions of accepted blocks and their effects on shared memory.

    The caller holds the chain's lock and the transaction. Return the transactions.

    Args:
        db: The chain's database.
        blocks: Consecutive blocks with a payload.
        chain_id: This chain.
        asset_id: The asset that is moved.
        shared: The shared memory in the same database.
        has_fixed_gas: Returns whether a transaction pays a fixed amount of gas in a block of this time in Unix seconds.
    """
    written: list[AtomicTx] = []
    for block in blocks:
        assert block.payload is not None
        txs = read_payload(block.payload)
        fixed_gas = has_fixed_gas(block.header.timestamp)
        rows = _accepted_rows(block.number, txs, asset_id, has_fixed_gas=fixed_gas)
        db.insert(models.AtomicTransaction, _ACCEPTED, rows)
        db.insert(models.Withdrawal, _WITHDRAWAL, _withdrawal_rows(block, txs))
        shared.apply(chain_id, requests_of(txs), block.number)
        written += txs
    return written


def withdrawal_count(db: Database) -> int:
    """Return the number of withdrawals in the chain: one more than the last index."""
    row = db.row(_LAST_WITHDRAWAL)
    return 0 if row is None or row[0] is None else int(row[0]) + 1


def last_block_above(db: Database, number: int) -> int | None:
    """Return the last block above a height that has atomic transactions, or None."""
    row = db.row(_ABOVE, (number,))
    return None if row is None or row[0] is None else int(row[0])


def find(db: Database, tx_id: ID) -> StoredTx | None:
    """Return a transaction: accepted, else pending, else dropped; None: it is unknown."""
    row = db.row(_ACCEPTED_TX, (tx_id,))
    if row is not None:
        return StoredTx(bytes(row[1]), int(row[0]))
    row = db.row(_WAITING_TX, (tx_id,))
    if row is not None:
        return StoredTx(bytes(row[0]))
    row = db.row(_DROPPED_TX, (tx_id,))
    return None if row is None else StoredTx(bytes(row[0]), None, row[1])


def best(db: Database) -> list[bytes]:
    """Return the pending transactions with the highest gas prices, best first, as signed bytes."""
    return [bytes(raw) for (raw,) in db.rows(*BEST_QUERY)]


def count(db: Database) -> int:
    """Return the number of pending transactions."""
    row = db.row(_COUNT)
    assert row is not None
    return int(row[0])


def cheapest(db: Database) -> WaitingTx | None:
    """Return the pending transaction that pays least for its gas; None: the pool is empty."""
    row = db.row(_CHEAPEST)
    return None if row is None else WaitingTx(ID(bytes(row[0])), int(row[1]))


def rivals(db: Database, keys: Sequence[bytes]) -> list[WaitingTx]:
    """Return the pending transactions that spend any of these outputs and nonces."""
    found = {ID(bytes(tx_id)): int(price) for tx_id, price in db.rows_by_keys(_RIVALS, keys)}
    return [WaitingTx(tx_id, price) for tx_id, price in sorted(found.items())]


def raws_of(db: Database, tx_ids: Collection[ID]) -> dict[ID, bytes]:
    """Return those of the transactions that are pending, as signed bytes."""
    rows = db.rows_by_keys(_RAWS, list(tx_ids))
    return {ID(bytes(tx_id)): bytes(raw) for tx_id, raw in rows}


def newest(db: Database, limit: int) -> list[ID]:
    """Return pending transactions, newest last."""
    return [ID(bytes(tx_id)) for (tx_id,) in reversed(db.rows(_NEWEST, (limit,)))]


def add(db: Database, tx: AtomicTx, price: int, received_at: int) -> None:
    """Write an admitted transaction, and delete the record of its earlier drop."""
    db.delete(models.DroppedAtomicTransaction, ("tx_id",), [(tx.tx_id,)])
    db.insert(models.AtomicPoolTransaction, _WAITING, [(tx.tx_id, price, received_at, tx.raw)])
    keys = ((key, tx.tx_id) for key in tx.conflict_keys)
    db.insert(models.AtomicPoolKey, ("key", "tx_id"), keys)


def remove(db: Database, tx_ids: Iterable[ID]) -> None:
    """Delete transactions from the pool."""
    keys = [(tx_id,) for tx_id in tx_ids]
    db.delete(models.AtomicPoolKey, ("tx_id",), keys)
    db.delete(models.AtomicPoolTransaction, ("tx_id",), keys)


def drop(db: Database, reasons: Sequence[tuple[ID, str]], dropped_at: int) -> None:
    """Move pending transactions to the dropped ones, of which only the latest are kept."""
    raws = raws_of(db, [tx_id for tx_id, _ in reasons])
    remove(db, raws)
    rows = [(tx_id, why, dropped_at, raws[tx_id]) for tx_id, why in reasons if tx_id in raws]
    db.delete(models.DroppedAtomicTransaction, ("tx_id",), ((row[0],) for row in rows))
    db.insert(models.DroppedAtomicTransaction, _DROPPED, rows)
    db.execute(_OLD_DROPPED, (MAX_DROPPED,))


def _accepted_rows(
    number: int, txs: Sequence[AtomicTx], asset_id: ID, *, has_fixed_gas: bool
) -> Iterable[Row]:
    for index, tx in enumerate(txs):
        unsigned = tx.unsigned
        imports = isinstance(unsigned, UnsignedImportTx)
        amounts: Any = (
            [made.amount for made in unsigned.outputs if made.asset_id == asset_id]
            if isinstance(unsigned, UnsignedImportTx)
            else [
                output_amount(made)
                for made in unsigned.exported_outputs
                if made.asset_id == asset_id
            ]
        )
        kind = models.AtomicKind.IMPORT if imports else models.AtomicKind.EXPORT
        yield (
            tx.tx_id, number, index, kind.value, tx.requests.peer, sum(amounts),
            burned(tx, asset_id), gas_used(tx, has_fixed_gas=has_fixed_gas), tx.raw,
            row_id(number, index),
        )  # fmt: skip


def _withdrawal_rows(block: AcceptedBlock, txs: Sequence[AtomicTx]) -> list[Row]:
    return [
        (
            withdrawal.index, block.number, withdrawal.validator_index,
            Address(withdrawal.address), withdrawal.amount, txs[withdrawal.validator_index].tx_id,
        )
        for withdrawal in block.withdrawals
    ]  # fmt: skip
