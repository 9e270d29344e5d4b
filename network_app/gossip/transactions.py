"""Which transactions are known here, and which a peer misses (p2p.md 8)."""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from network_app.bloom import BloomFilter, SaltedBloom
from primitives.ids import ID

EXPECTED = 8192
"""Transactions that a filter is made for, at least."""
PULL_SIZE = 20 * 1024
"""Bytes of transactions after which an answer ends."""
REMEMBERED = 32_768
"""IDs that are remembered one by one."""

_TARGET_RATE = 0.01
_MOST_RATE = 0.05
_GROWTH = 3
"""How many times more transactions a filter is made for than there are when it is made."""


class KnownTransactions:
    """IDs of the transactions that this node has, has had or has refused.

    A peer is told of them by a filter, which may claim too much; what comes in is held against the
    IDs themselves, of which the newest are remembered.
    """

    def __init__(self, *, expected: int = EXPECTED, remembered: int = REMEMBERED) -> None:
        self._expected = expected
        self._remembered = remembered
        self._newest: OrderedDict[ID, None] = OrderedDict()
        self._filter = SaltedBloom(expected, _TARGET_RATE, _MOST_RATE)

    def __contains__(self, tx_id: ID) -> bool:
        return tx_id in self._newest

    def __len__(self) -> int:
        return len(self._newest)

    def fresh(self, tx_ids: Iterable[ID]) -> list[ID]:
        """Return those that are not known, each once, in order."""
        return [tx_id for tx_id in dict.fromkeys(tx_ids) if tx_id not in self._newest]

    def add(self, tx_ids: Iterable[ID]) -> None:
        """Know transactions, taken in or refused: they are not asked for again."""
        for tx_id in tx_ids:
            self._newest[tx_id] = None
            self._newest.move_to_end(tx_id)
            self._filter.add(tx_id)
        while len(self._newest) > self._remembered:
            self._newest.popitem(last=False)

    @property
    def full(self) -> bool:
        """Whether the filter claims too much, and is to be renewed."""
        return self._filter.full

    def renew(self, waiting: Iterable[ID]) -> None:
        """Make the filter anew: of what waits, and of the newest of the others as far as they fit."""
        kept = dict.fromkeys(waiting)
        size = max(self._expected, _GROWTH * len(kept))
        kept |= dict.fromkeys(islice(reversed(self._newest), size // 2))
        self._filter = SaltedBloom(size, _TARGET_RATE, _MOST_RATE)
        for tx_id in kept:
            self._filter.add(tx_id)

    def marshal(self) -> tuple[bytes, bytes]:
        """Return the filter and its salt as a peer is asked with them."""
        return self._filter.marshal()

    @staticmethod
    def missing_from(
        known: BloomFilter, items: Iterable[tuple[ID, bytes]], budget: int = PULL_SIZE
    ) -> list[bytes]:
        """Return the transactions that a peer's filter does not have, until they pass so many bytes.

        Items are read no further than needed. The one that passes the budget is still among them:
        else a large one would never be told.
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
