"""Who must leave a pool that is too full.

The cheapest go first, queued ones before executable ones; of those that pay the same, the one that
came last. An executable one only leaves from the end of its lane, so no gap opens, and lanes within
their sender's guarantee are spared as long as the pool as a whole is not full (as in go-ethereum).
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.errors import FutureReplacesPending, PoolFull, PoolRejection, Underpriced
from cchain_app.pool.limits import PoolLimits
from cchain_app.pool.ordering import Lane

Rank = tuple[int, int, int, int]
"""How much a transaction is worth to the pool; the lowest leaves first."""


def rank(entry: PoolEntry, base_fee: int) -> Rank:
    """Return the worth of a transaction at a base fee: tip, then caps, then time of arrival."""
    return (
        entry.effective_tip(base_fee),
        entry.max_fee_per_gas,
        entry.max_priority_fee_per_gas,
        -entry.arrival,
    )


def make_room(
    newcomer: PoolEntry, own: Lane, others: Iterable[Lane], limits: PoolLimits, base_fee: int
) -> tuple[PoolEntry, ...]:
    """Return who must leave so that the newcomer, which is in its own lane already, can stay.

    Raises:
        Underpriced: It would have to leave itself.
        FutureReplacesPending: So would it, being queued, although it pays more than executable ones.
        PoolFull: So would it, and nobody else's transaction is there to leave.
    """
    rest = list(others)
    leaving = trim((own, *rest), limits, base_fee)
    if newcomer in leaving:
        raise _refusal(newcomer, own, rest, limits, base_fee)
    return leaving


def trim(lanes: Iterable[Lane], limits: PoolLimits, base_fee: int) -> tuple[PoolEntry, ...]:
    """Return who must leave, in order, so that the pool of these lanes is within its limits."""
    pool = _Trim(lanes, base_fee)
    while pool.queued_slots > limits.queued_slots:
        pool.drop_queued()
    if pool.executable_slots > limits.executable_slots:
        pool.drop_tails(limits.executable_slots, spared=limits.account_executable_slots)
    while pool.slots > limits.slots and pool.queued_slots:
        pool.drop_queued()
    pool.drop_tails(limits.slots - pool.queued_slots, spared=0)
    return tuple(pool.dropped)


class _Trim:
    """The lanes while they are shortened."""

    def __init__(self, lanes: Iterable[Lane], base_fee: int) -> None:
        self.dropped: list[PoolEntry] = []
        self._base_fee = base_fee
        self._executable: list[list[PoolEntry]] = []
        self._queued: list[tuple[Rank, PoolEntry]] = []
        for lane in lanes:
            self._executable.append(list(lane.executable))
            self._queued += [(rank(entry, base_fee), entry) for entry in lane.queued]
        heapify(self._queued)
        self._lane_slots = [slots_of(lane) for lane in self._executable]
        self.executable_slots = sum(self._lane_slots)
        self.queued_slots = slots_of(entry for _, entry in self._queued)

    @property
    def slots(self) -> int:
        return self.executable_slots + self.queued_slots

    def drop_queued(self) -> None:
        """Drop the cheapest queued one."""
        _, entry = heappop(self._queued)
        self.queued_slots -= entry.slots
        self.dropped.append(entry)

    def drop_tails(self, limit: int, spared: int) -> None:
        """Drop the cheapest last executable one, and so on, of lanes with more slots than spared.

        Ends when all executable ones are within limit, or nothing is left to drop.
        """
        if self.executable_slots <= limit:
            return
        tails = [
            (rank(lane[-1], self._base_fee), number)
            for number, lane in enumerate(self._executable)
            if self._lane_slots[number] > spared
        ]
        heapify(tails)
        while tails and self.executable_slots > limit:
            _, number = heappop(tails)
            self._drop_tail(number)
            if self._lane_slots[number] > spared:
                heappush(tails, (rank(self._executable[number][-1], self._base_fee), number))

    def _drop_tail(self, number: int) -> None:
        entry = self._executable[number].pop()
        self._lane_slots[number] -= entry.slots
        self.executable_slots -= entry.slots
        self.dropped.append(entry)


def _refusal(
    newcomer: PoolEntry, own: Lane, others: list[Lane], limits: PoolLimits, base_fee: int
) -> PoolRejection:
    if not any(lane.executable or lane.queued for lane in others):
        return PoolFull()
    worth = rank(newcomer, base_fee)
    slots = sum(slots_of(lane.executable) + slots_of(lane.queued) for lane in (own, *others))
    if (
        newcomer in own.queued
        and slots > limits.slots
        and any(lane.executable and rank(lane.executable[-1], base_fee) < worth for lane in others)
    ):
        return FutureReplacesPending()
    return Underpriced()


def slots_of(entries: Iterable[PoolEntry]) -> int:
    """Return how much of the pool's room transactions take."""
    return sum(entry.slots for entry in entries)
