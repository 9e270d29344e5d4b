"""Rows of the transaction pool, which survives restarts."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cchain_app import models
from cchain_app.memory import PoolKey, PoolMemory
from cchain_app.pool.entry import SLOT_BYTES, Newcomer, PoolEntry
from cchain_app.txs.blobs import BYTES_PER_BLOB
from cchain_app.txs.transaction import Transaction
from chaindb.database import Database, SqlQuery
from primitives.evm import Address, Hash

_COLUMNS = (
    "hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas", "value",
    "size", "received_at", "authorities", "raw", "blobs", "max_fee_per_blob_gas",
)  # fmt: skip

_ENTRIES = """
SELECT hash, sender, nonce, gas, max_fee_per_gas, max_priority_fee_per_gas, value, size, id,
       received_at, authorities, blobs, max_fee_per_blob_gas
FROM cchain_app_pooltransaction
"""
_COLUMNS_ABOVE = 11
"""Number of columns of `_ENTRIES` other than hash and key, which identify a row."""
_ENTRIES_ABOVE = """
SELECT hash, CASE WHEN id > %s THEN sender END, CASE WHEN id > %s THEN nonce END,
       CASE WHEN id > %s THEN gas END, CASE WHEN id > %s THEN max_fee_per_gas END,
       CASE WHEN id > %s THEN max_priority_fee_per_gas END, CASE WHEN id > %s THEN value END,
       CASE WHEN id > %s THEN size END, id, CASE WHEN id > %s THEN received_at END,
       CASE WHEN id > %s THEN authorities END, CASE WHEN id > %s THEN blobs END,
       CASE WHEN id > %s THEN max_fee_per_blob_gas END
FROM cchain_app_pooltransaction
"""
"""Like `_ENTRIES`, but with only hash and key of the rows up to a given key."""
_RAWS = "SELECT hash, sender, raw FROM cchain_app_pooltransaction WHERE hash IN ({keys})"
_NEWEST = "SELECT hash FROM cchain_app_pooltransaction WHERE blobs = 0 ORDER BY id DESC LIMIT %s"
EXTENT_QUERY: Final[SqlQuery] = (
    "SELECT sum((size + blobs * %s + %s) / %s), count(authorities) FROM cchain_app_pooltransaction",
    (BYTES_PER_BLOB, SLOT_BYTES - 1, SLOT_BYTES),
)

ANY_QUERY: Final[SqlQuery] = (
    "SELECT 1 FROM cchain_app_pooltransaction "
    "UNION ALL SELECT 1 FROM cchain_app_atomicpooltransaction LIMIT 1",
    (),
)

_VERSION = """
SELECT count(*), max(id), sum(id), (SELECT max(id) FROM cchain_app_atomicpooltransaction),
  (SELECT count(*) FROM cchain_app_atomicpooltransaction)
FROM cchain_app_pooltransaction
"""

_ADDRESS_BYTES = 20


class Extent(NamedTuple):
    """The total size of the pool."""

    slots: int
    """Slots of 32 KiB."""
    with_authorities: int
    """Number of transactions with authorities (EIP-7702)."""


def add(db: Database, newcomers: Iterable[Newcomer], received_at: int) -> None:
    """Write admitted transactions, in order of arrival."""
    db.insert(
        models.PoolTransaction,
        _COLUMNS,
        [
            (
                tx.hash, tx.sender, tx.nonce, tx.gas, tx.max_fee_per_gas,
                tx.max_priority_fee_per_gas, tx.value, len(tx.raw), received_at,
                b"".join(authorities) or None, tx.raw, len(tx.blob_hashes),
                tx.max_fee_per_blob_gas,
            )
            for tx, authorities, _ in newcomers
        ],
    )  # fmt: skip


def remove(db: Database, hashes: Iterable[Hash]) -> None:
    """Delete transactions from the pool."""
    db.delete(models.PoolTransaction, ("hash",), ((tx_hash,) for tx_hash in hashes))


def remove_mined(db: Database, transactions: Iterable[Transaction]) -> None:
    """Delete the transactions of a block from the pool, and others with the same nonces."""
    rows = ((tx.sender, tx.nonce) for tx in transactions)
    db.delete(models.PoolTransaction, ("sender", "nonce"), rows)


def remove_used_nonces(db: Database, used: Iterable[tuple[Address, int]]) -> None:
    """Delete the transactions with a nonce of an account that something other than a transaction has used."""
    db.delete(models.PoolTransaction, ("sender", "nonce"), used)


def remove_all(db: Database) -> None:
    """Delete all transactions from the pool."""
    db.execute("DELETE FROM cchain_app_pooltransaction")


def stored(db: Database) -> list[tuple[bytes, Address, int]]:
    """Return envelope, sender and arrival (Unix seconds) of all pending transactions, in order of arrival."""
    found = db.objects(models.PoolTransaction).order_by("id")
    return [
        (bytes(raw), Address(bytes(sender)), received_at)
        for raw, sender, received_at in found.values_list("raw", "sender", "received_at")
    ]


def extent(db: Database) -> Extent:
    """Return the total size of the pool, in one statement."""
    (found,) = db.rows(*EXTENT_QUERY)
    slots, with_authorities = found
    return Extent(int(slots or 0), with_authorities)


def version(db: Database) -> tuple[int | None, ...]:
    """Return figures about the rows and their keys, which differ after a row was added or deleted."""
    (found,) = db.rows(_VERSION)
    return tuple(found)


def is_empty(db: Database) -> bool:
    """Return whether neither transactions nor atomic transactions are pending, in one statement."""
    return db.row(*ANY_QUERY) is None


def entries_query(memory: PoolMemory) -> SqlQuery:
    """Return the query of `entries`."""
    known = memory.entries
    return _ENTRIES_ABOVE, (max(known)[0] if known else -1,) * _COLUMNS_ABOVE


def entries(db: Database, memory: PoolMemory) -> list[PoolEntry]:
    """Return the whole pool without the envelopes, in order of arrival.

    A row never changes, so only rows that this process does not know yet are read.
    """
    known = memory.entries
    found: dict[PoolKey, PoolEntry | None] = {}
    for row in db.rows(*entries_query(memory)):
        key = (row[8], bytes(row[0]))
        found[key] = known.get(key) or (None if row[1] is None else _entry(row))
    late = [key for key, entry in found.items() if entry is None]
    if late:
        # Committed after rows with higher keys. Another process may have deleted some since.
        rows = db.rows_by_keys(_ENTRIES + "WHERE id IN ({keys})", [key for key, _ in late])
        found.update({(item.arrival, bytes(item.hash)): item for item in map(_entry, rows)})
    entries = {key: entry for key in sorted(found) if (entry := found[key]) is not None}
    if entries.keys() != known.keys():
        memory.entries = entries
    return list(entries.values())


def queries_for_senders(db: Database, senders: Iterable[Address]) -> list[SqlQuery]:
    """Return the queries of `entries_of`."""
    return db.key_queries(_ENTRIES + "WHERE sender IN ({keys})", sorted(senders))


def entries_of(db: Database, senders: Iterable[Address]) -> list[PoolEntry]:
    """Return the pending transactions of these senders."""
    asked = queries_for_senders(db, senders)
    return [_entry(row) for query in asked for row in db.rows(*query)]


def entries_with_authorities(db: Database) -> list[PoolEntry]:
    """Return the transactions with authorities (EIP-7702)."""
    return [_entry(row) for row in db.rows(_ENTRIES + "WHERE authorities IS NOT NULL")]


def envelopes(db: Database, hashes: Iterable[Hash]) -> dict[Hash, tuple[Address, bytes]]:
    """Return sender and envelope of pending transactions by hash."""
    found = db.rows_by_keys(_RAWS, list(hashes))
    return {
        Hash(bytes(tx_hash)): (Address(bytes(sender)), bytes(raw)) for tx_hash, sender, raw in found
    }


def newest(db: Database, limit: int) -> list[Hash]:
    """Return the hashes of the transactions without blobs that arrived last, newest last."""
    found = db.rows(_NEWEST, [limit])
    return [Hash(bytes(tx_hash)) for (tx_hash,) in reversed(found)]


def _entry(row: tuple[Any, ...]) -> PoolEntry:
    tx_hash, sender, nonce, gas, max_fee, tip, value, size, key, received_at, authorities = row[:11]
    blobs, blob_fee = row[11:]
    return PoolEntry(
        Hash(bytes(tx_hash)), Address(bytes(sender)), int(nonce), gas, int(max_fee), int(tip),
        int(value), size, key, received_at, _addresses(bytes(authorities or b"")), blobs,
        int(blob_fee),
    )  # fmt: skip


def _addresses(joined: bytes) -> tuple[Address, ...]:
    starts = range(0, len(joined), _ADDRESS_BYTES)
    return tuple(Address(joined[start : start + _ADDRESS_BYTES]) for start in starts)
