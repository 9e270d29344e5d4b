"""Select the transactions that a full pool evicts.

The cheapest are evicted first, queued ones before pending ones; of those that pay the same, the latest arrival. A
pending transaction is only evicted from the end of its queue, so that no gap opens. Queues within
their sender's guarantee are spared as long as the pool as a whole is not full (as in go-ethereum).
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from cchain_app.pool.entry import AccountQueue, PoolEntry, PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection

Rank = tuple[int, int, int, int]
"""The value of a transaction to the pool; the lowest is evicted first."""


def rank(entry: PoolEntry, base_fee: int) -> Rank:
    """Return the value of a transaction at a base fee: tip, then caps, then time of arrival."""
    return (
        entry.effective_tip(base_fee),
        entry.max_fee_per_gas,
        entry.max_priority_fee_per_gas,
        -entry.arrival,
    )


def make_room(
    newcomer: PoolEntry,
    own: AccountQueue,
    others: Iterable[AccountQueue],
    limits: PoolLimits,
    base_fee: int,
) -> tuple[PoolEntry, ...]:
    """Return the transactions to evict so that the newcomer, which is in its own queue already, can stay.

    Raises:
        PoolRejection: The newcomer itself would be evicted; the reason says whether it pays too little, is queued
            (although it pays more than pending ones), or no other sender has a transaction to evict.
    """
    rest = list(others)
    leaving = trim((own, *rest), limits, base_fee)
    if newcomer in leaving:
        raise _refusal(newcomer, own, rest, limits, base_fee)
    return leaving


def trim(
    queues: Iterable[AccountQueue], limits: PoolLimits, base_fee: int
) -> tuple[PoolEntry, ...]:
    """Return the transactions to evict, in order, so that the pool of these queues is within its limits."""
    pool = _Trim(queues, base_fee)
    while pool.queued_slots > limits.queued_slots:
        pool.drop_queued()
    if pool.pending_slots > limits.pending_slots:
        pool.drop_tails(limits.pending_slots, spared=limits.account_pending_slots)
    while pool.slots > limits.slots and pool.queued_slots:
        pool.drop_queued()
    pool.drop_tails(limits.slots - pool.queued_slots, spared=0)
    return tuple(pool.dropped)


class _Trim:
    """The queues while they are being shortened."""

    def __init__(self, queues: Iterable[AccountQueue], base_fee: int) -> None:
        self.dropped: list[PoolEntry] = []
        self._base_fee = base_fee
        self._pending: list[list[PoolEntry]] = []
        self._queued: list[tuple[Rank, PoolEntry]] = []
        for queue in queues:
            self._pending.append(list(queue.pending))
            self._queued += [(rank(entry, base_fee), entry) for entry in queue.queued]
        heapify(self._queued)
        self._queue_slots = [slots_of(queue) for queue in self._pending]
        self.pending_slots = sum(self._queue_slots)
        self.queued_slots = slots_of(entry for _, entry in self._queued)

    @property
    def slots(self) -> int:
        return self.pending_slots + self.queued_slots

    def drop_queued(self) -> None:
        """Drop the cheapest queued transaction."""
        _, entry = heappop(self._queued)
        self.queued_slots -= entry.slots
        self.dropped.append(entry)

    def drop_tails(self, limit: int, spared: int) -> None:
        """Drop the cheapest of all last pending transactions, repeatedly, from queues with more slots than `spared`.

        Stop when all pending transactions are within the limit, or there are no further candidates.
        """
        if self.pending_slots <= limit:
            return
        tails = [
            (rank(queue[-1], self._base_fee), number)
            for number, queue in enumerate(self._pending)
            if self._queue_slots[number] > spared
        ]
        heapify(tails)
        while tails and self.pending_slots > limit:
            _, number = heappop(tails)
            self._drop_tail(number)
            if self._queue_slots[number] > spared:
                heappush(tails, (rank(self._pending[number][-1], self._base_fee), number))

    def _drop_tail(self, number: int) -> None:
        entry = self._pending[number].pop()
        self._queue_slots[number] -= entry.slots
        self.pending_slots -= entry.slots
        self.dropped.append(entry)


def _refusal(
    newcomer: PoolEntry,
    own: AccountQueue,
    others: list[AccountQueue],
    limits: PoolLimits,
    base_fee: int,
) -> PoolRejection:
    if not any(queue.pending or queue.queued for queue in others):
        return PoolRejection(PoolReason.POOL_FULL)
    worth = rank(newcomer, base_fee)
    slots = sum(slots_of(queue.pending) + slots_of(queue.queued) for queue in (own, *others))
    if (
        newcomer in own.queued
        and slots > limits.slots
        and any(queue.pending and rank(queue.pending[-1], base_fee) < worth for queue in others)
    ):
        return PoolRejection(PoolReason.FUTURE_REPLACES_PENDING)
    return PoolRejection(PoolReason.UNDERPRICED)


def slots_of(entries: Iterable[PoolEntry]) -> int:
    """Return the number of pool slots that transactions take."""
    return sum(entry.slots for entry in entries)
