"""Rows of blobs: written with their transaction when the pool admits it, deleted when they are old."""

from collections.abc import Iterable, Sequence
from typing import Final

from cchain_app import models
from cchain_app.pool.entry import Newcomer
from cchain_app.txs.blobs import BYTES_PER_PROOF, Sidecar
from chaindb.database import Database
from primitives.evm import Hash

_COLUMNS: Final = (
    "transaction_hash", "index", "versioned_hash", "version", "commitment", "proofs", "blob",
    "received_at",
)  # fmt: skip

_OF_TRANSACTION: Final = """
SELECT version, blob, commitment, proofs FROM cchain_app_blob WHERE transaction_hash = %s ORDER BY "index"
"""
_OF_TRANSACTIONS: Final = """
SELECT transaction_hash, "index", blob FROM cchain_app_blob WHERE transaction_hash IN ({keys})
"""
_TRANSACTIONS: Final = """
SELECT transaction_hash FROM cchain_app_blob WHERE versioned_hash = %s ORDER BY id DESC LIMIT %s
"""
_TRANSACTIONS_AT_ONCE: Final = 16
_BLOB: Final = """
SELECT blob FROM cchain_app_blob WHERE transaction_hash = %s AND versioned_hash = %s LIMIT 1
"""
_KNOWN: Final = (
    "SELECT DISTINCT transaction_hash FROM cchain_app_blob WHERE transaction_hash IN ({keys})"
)
_OLD: Final = "SELECT id FROM cchain_app_blob WHERE received_at < %s ORDER BY id LIMIT %s"


def add(db: Database, newcomers: Iterable[Newcomer], received_at: int) -> None:
    """Write the blobs of admitted transactions, except those that were stored before.

    A transaction that left the pool may come again; its blobs are the same ones.
    """
    sidecars = {item.transaction.hash: item for item in newcomers if item.sidecar is not None}
    if not sidecars:
        return
    known = {bytes(row[0]) for row in db.rows_by_keys(_KNOWN, list(sidecars))}
    rows = [
        row
        for tx_hash, item in sidecars.items()
        if tx_hash not in known and item.sidecar is not None
        for row in _rows(item, item.sidecar, received_at)
    ]
    db.insert(models.Blob, _COLUMNS, rows)


def sidecar_of(db: Database, tx_hash: Hash) -> Sidecar | None:
    """Return the sidecar of a transaction; None if it has none, or if it was deleted."""
    found = [tuple(row) for row in db.rows(_OF_TRANSACTION, [tx_hash])]
    if not found:
        return None
    return Sidecar(
        found[0][0],
        tuple(bytes(blob) for _, blob, _, _ in found),
        tuple(bytes(commitment) for _, _, commitment, _ in found),
        tuple(proof for _, _, _, joined in found for proof in _split(bytes(joined))),
    )


def of_transactions(db: Database, hashes: Sequence[Hash]) -> dict[tuple[Hash, int], bytes]:
    """Return the blobs of some transactions by the transaction's hash and the blob's index, as far as they are kept."""
    return {
        (Hash(bytes(tx_hash)), index): bytes(blob)
        for tx_hash, index, blob in db.rows_by_keys(_OF_TRANSACTIONS, hashes)
    }


def transactions_with(db: Database, versioned_hash: Hash) -> list[Hash]:
    """Return the latest transactions that were sent with a blob, newest first; 16 at most."""
    found = db.rows(_TRANSACTIONS, [versioned_hash, _TRANSACTIONS_AT_ONCE])
    return list(dict.fromkeys(Hash(bytes(tx_hash)) for (tx_hash,) in found))


def find(db: Database, transaction_hash: Hash, versioned_hash: Hash) -> bytes | None:
    """Return the blob of a transaction with a versioned hash; None if it does not exist, or if it was deleted."""
    row = db.row(_BLOB, [transaction_hash, versioned_hash])
    return None if row is None else bytes(row[0])


def delete_before(db: Database, time: int, limit: int) -> int:
    """Delete some of the blobs that arrived before a time (Unix seconds); return how many."""
    old = [(key,) for (key,) in db.rows(_OLD, [time, limit])]
    db.delete(models.Blob, ("id",), old)
    return len(old)


def delete_all(db: Database) -> None:
    """Delete all blobs."""
    db.execute("DELETE FROM cchain_app_blob")


def _rows(item: Newcomer, sidecar: Sidecar, received_at: int) -> Iterable[tuple[bytes | int, ...]]:
    transaction, count = item.transaction, sidecar.proofs_per_blob
    parts = zip(transaction.blob_hashes, sidecar.commitments, sidecar.blobs, strict=True)
    for index, (versioned_hash, commitment, blob) in enumerate(parts):
        proofs = b"".join(sidecar.proofs[index * count : (index + 1) * count])
        yield (
            transaction.hash, index, versioned_hash, sidecar.version, commitment, proofs, blob,
            received_at,
        )  # fmt: skip


def _split(joined: bytes) -> Sequence[bytes]:
    starts = range(0, len(joined), BYTES_PER_PROOF)
    return [joined[start : start + BYTES_PER_PROOF] for start in starts]
