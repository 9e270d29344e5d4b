"""The pool's rows: the mempool that survives a restart."""

from collections.abc import Iterable
from typing import Any

from cchain_app import models
from cchain_app.pool.entry import SLOT_BYTES, PoolEntry
from cchain_app.txs.transaction import Transaction
from chaindb import bulk, sql
from primitives.evm import Address, Hash

_COLUMNS = (
    "hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas", "value",
    "size", "received_at", "raw",
)  # fmt: skip

_ENTRIES = """
SELECT hash, sender, nonce, gas, max_fee_per_gas, max_priority_fee_per_gas, value, size, id,
       received_at
FROM cchain_app_pooltransaction
"""
_RAWS = "SELECT hash, sender, raw FROM cchain_app_pooltransaction WHERE hash IN ({keys})"
_SLOTS = "SELECT sum((size + %s) / %s) FROM cchain_app_pooltransaction"


def add(transactions: Iterable[Transaction], received_at: int) -> None:
    """Write admitted transactions, in order of arrival."""
    bulk.insert(
        models.PoolTransaction,
        _COLUMNS,
        [
            (
                tx.hash, tx.sender, tx.nonce, tx.gas, tx.max_fee_per_gas,
                tx.max_priority_fee_per_gas, tx.value, len(tx.raw), received_at, tx.raw,
            )
            for tx in transactions
        ],
    )  # fmt: skip


def remove(hashes: Iterable[Hash]) -> None:
    """Delete transactions from the pool."""
    bulk.delete(models.PoolTransaction, ("hash",), ((tx_hash,) for tx_hash in hashes))


def remove_mined(transactions: Iterable[Transaction]) -> None:
    """Delete what a block has used up: its transactions, or others with the same nonces."""
    rows = ((tx.sender, tx.nonce) for tx in transactions)
    bulk.delete(models.PoolTransaction, ("sender", "nonce"), rows)


def slots() -> int:
    """Return how many slots of 32 KiB the whole pool takes."""
    found = sql.row(_SLOTS, (SLOT_BYTES - 1, SLOT_BYTES))
    return int(found[0]) if found and found[0] else 0


def entries() -> list[PoolEntry]:
    """Return the whole pool without the envelopes, in order of arrival."""
    return [_entry(row) for row in sql.rows(_ENTRIES + "ORDER BY id")]


def entries_of(senders: Iterable[Address]) -> list[PoolEntry]:
    """Return what waits of these senders."""
    found = sql.rows_by_keys(_ENTRIES + "WHERE sender IN ({keys})", list(senders))
    return [_entry(row) for row in found]


def envelopes(hashes: Iterable[Hash]) -> dict[Hash, tuple[Address, bytes]]:
    """Return sender and envelope of waiting transactions by hash."""
    found = sql.rows_by_keys(_RAWS, list(hashes))
    return {
        Hash(bytes(tx_hash)): (Address(bytes(sender)), bytes(raw)) for tx_hash, sender, raw in found
    }


def _entry(row: tuple[Any, ...]) -> PoolEntry:
    tx_hash, sender, nonce, gas, max_fee, tip, value, *others = row
    return PoolEntry(
        Hash(bytes(tx_hash)), Address(bytes(sender)), int(nonce), gas, int(max_fee), int(tip),
        int(value), *others,
    )  # fmt: skip
