"""The pool's rows: the mempool that survives a restart."""

from collections.abc import Iterable, Sequence

from django.db.models import F, QuerySet, Sum

from cchain_app import models
from cchain_app.pool.entry import SLOT_BYTES, PoolEntry
from cchain_app.txs.transaction import Transaction
from chaindb import bulk
from primitives.evm import Address, Hash

_COLUMNS = (
    "hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas", "value",
    "size", "received_at", "raw",
)  # fmt: skip

_ENTRY = (
    "hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas", "value",
    "size", "id", "received_at",
)  # fmt: skip


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
    taken = (F("size") + (SLOT_BYTES - 1)) / SLOT_BYTES
    total: int | None = models.PoolTransaction.objects.aggregate(total=Sum(taken))["total"]
    return total or 0


def entries() -> list[PoolEntry]:
    """Return the whole pool without the envelopes, in order of arrival."""
    return _entries(models.PoolTransaction.objects.order_by("id"))


def entries_of(senders: Iterable[Address]) -> list[PoolEntry]:
    """Return what waits of these senders, in order of arrival."""
    rows = models.PoolTransaction.objects.filter(sender__in=list(senders))
    return _entries(rows.order_by("id"))


def raws(hashes: Sequence[Hash]) -> dict[Hash, bytes]:
    """Return the envelopes of waiting transactions by hash."""
    found: dict[Hash, bytes] = {}
    for start in range(0, len(hashes), 500):
        part = hashes[start : start + 500]
        rows = models.PoolTransaction.objects.filter(hash__in=list(part)).values_list("hash", "raw")
        found.update((Hash(bytes(tx_hash)), bytes(raw)) for tx_hash, raw in rows)
    return found


def _entries(rows: QuerySet[models.PoolTransaction]) -> list[PoolEntry]:
    return [
        PoolEntry(Hash(bytes(row[0])), Address(bytes(row[1])), *row[2:])
        for row in rows.values_list(*_ENTRY)
    ]
