"""The transactions known here, and the selection of those that a peer lacks (p2p.md 8)."""

from collections.abc import Iterable
from itertools import islice

from network_app.bloom import BloomFilter, SaltedBloom
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID

EXPECTED = 8192
"""Minimum number of transactions that a filter is sized for."""
PULL_SIZE = 20 * 1024
"""Size of an answer in bytes; the transaction that exceeds it is the last one."""
REMEMBERED = 32_768
"""Number of IDs that are remembered individually."""

_TARGET_RATE = 0.01
_MAX_RATE = 0.05
_GROWTH = 3
"""Size of a new filter as a multiple of the number of pending transactions."""


class KnownTransactions:
    """IDs of the transactions that this node has, has had or has rejected.

    Peers get them as a Bloom filter, which may have false positives. Received transactions are compared with
    the IDs themselves, of which the newest are remembered.
    """

    def __init__(self, *, expected: int = EXPECTED, remembered: int = REMEMBERED) -> None:
        self._expected = expected
        self._newest: BoundedCache[ID, None] = BoundedCache(remembered)
        self._filter = SaltedBloom(expected, _TARGET_RATE, _MAX_RATE)

    def __contains__(self, tx_id: ID) -> bool:
        return tx_id in self._newest

    def __len__(self) -> int:
        return len(self._newest)

    def fresh(self, tx_ids: Iterable[ID]) -> list[ID]:
        """Return the IDs that are not known, without duplicates, in order."""
        return [tx_id for tx_id in dict.fromkeys(tx_ids) if tx_id not in self._newest]

    def add(self, tx_ids: Iterable[ID]) -> None:
        """Add accepted or rejected transactions, which are then not requested again."""
        for tx_id in tx_ids:
            self._newest.put_newest(tx_id, None)
            self._filter.add(tx_id)

    @property
    def full(self) -> bool:
        """Whether the filter has too many false positives and must be renewed."""
        return self._filter.full

    def renew(self, waiting: Iterable[ID]) -> None:
        """Rebuild the filter from the pending transactions and as many of the newest others as fit."""
        kept = dict.fromkeys(waiting)
        size = max(self._expected, _GROWTH * len(kept))
        kept |= dict.fromkeys(islice(reversed(self._newest), size // 2))
        self._filter = SaltedBloom(size, _TARGET_RATE, _MAX_RATE)
        for tx_id in kept:
            self._filter.add(tx_id)

    def marshal(self) -> tuple[bytes, bytes]:
        """Return the filter and its salt in the form that is sent to peers."""
        return self._filter.marshal()

    @staticmethod
    def missing_from(
        known: BloomFilter, items: Iterable[tuple[ID, bytes]], budget: int = PULL_SIZE
    ) -> list[bytes]:
        """Return the transactions that a peer's filter lacks, until their size exceeds `budget`.

        Items are read only as far as needed. The transaction that exceeds the budget is included, because a
        large transaction would otherwise never be sent.
        """
        missing: list[bytes] = []
        for tx_id, raw in items:
            if tx_id in known:
                continue
            missing.append(raw)
            budget -= len(raw)
            if budget < 0:
                break
        return missing
