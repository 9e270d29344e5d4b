"""Which pool transactions are executable, in which order they run, and how a new head changes that.

A sender's transactions form a queue: the gap-free and funded ones from the account's nonce on are
pending, all after them are queued. This status is not stored, because it follows from the account.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from cchain_app.pool.entry import PoolEntry, PoolLimits

_ANY_SIZE = 1 << 62


class AccountQueue(NamedTuple):
    """A sender's pool transactions, each part in ascending order of nonces."""

    used: tuple[PoolEntry, ...]
    """Transactions whose nonces the account has used: they can never run."""
    pending: tuple[PoolEntry, ...]
    """Transactions without a gap from the account's nonce on, and together within its balance."""
    queued: tuple[PoolEntry, ...]
    """Transactions after a gap, or without funds."""
    spent: int
    """The most that the pending part can cost its sender, in wei."""

    @property
    def waiting(self) -> tuple[PoolEntry, ...]:
        """All pool transactions of the sender, in ascending order of nonces."""
        return (*self.used, *self.pending, *self.queued)

    def at(self, nonce: int) -> PoolEntry | None:
        """Return the transaction with this nonce, if there is one."""
        if self.pending:
            place = nonce - self.pending[0].nonce
            if 0 <= place < len(self.pending):
                return self.pending[place]
        return next((entry for entry in (*self.queued, *self.used) if entry.nonce == nonce), None)


EMPTY_ACCOUNT_QUEUE = AccountQueue((), (), (), 0)
"""The queue of a sender without pool transactions."""


class SettledPool(NamedTuple):
    """A sender's pool transactions after a new head."""

    queue: AccountQueue
    """The remaining transactions, without any that are `used`."""
    dropped: tuple[PoolEntry, ...]


def split(waiting: Iterable[PoolEntry], nonce: int, balance: int) -> AccountQueue:
    """Split a sender's pool transactions by the account's next nonce and balance (wei).

    Unspecified: funds are summed over the whole queue, so a sender cannot fill blocks with
    transactions that fail for lack of funds; go-ethereum checks each one separately after a block.
    """
    used: list[PoolEntry] = []
    pending: list[PoolEntry] = []
    queued: list[PoolEntry] = []
    funds = balance
    for entry in sorted(waiting, key=_nonce):
        if entry.nonce < nonce:
            used.append(entry)
        elif entry.nonce == nonce + len(pending) and entry.cost <= funds:
            pending.append(entry)
            funds -= entry.cost
        else:
            queued.append(entry)
    return AccountQueue(tuple(used), tuple(pending), tuple(queued), balance - funds)


def extend(queue: AccountQueue, entry: PoolEntry, nonce: int, balance: int) -> AccountQueue:
    """Return the queue with one more transaction, whose nonce no other one has.

    The usual case, the next nonce of a queue without queued transactions, does not look at the others.
    """
    following = nonce + len(queue.pending)
    if entry.nonce == following and not queue.queued and queue.spent + entry.cost <= balance:
        return queue._replace(pending=(*queue.pending, entry), spent=queue.spent + entry.cost)
    return split((*queue.waiting, entry), nonce, balance)


def next_nonce(nonce: int, waiting: Iterable[PoolEntry]) -> int:
    """Return the first nonce from the account's next one on that no pool transaction has.

    For eth_getTransactionCount with `pending`, pass it the pending part of a queue.
    """
    taken = {entry.nonce for entry in waiting}
    while nonce in taken:
        nonce += 1
    return nonce


def settle(
    waiting: Iterable[PoolEntry],
    nonce: int,
    balance: int,
    *,
    block_gas_limit: int,
    now: int,
    limits: PoolLimits,
) -> SettledPool:
    """Return which of a sender's pool transactions stay on a new head, and which are dropped.

    Dropped are used ones, those with more gas than a block has, queued ones older than their lifetime (`now`
    is in Unix seconds), and, if too many are queued, those with the highest nonces.

    Unspecified: a lifetime begins with the arrival of the transaction, not with that of its sender's latest one.
    """
    fitting, oversized = _partition(waiting, lambda entry: entry.gas <= block_gas_limit)
    queue = split(fitting, nonce, balance)
    oldest = now - limits.queued_lifetime
    fresh, expired = _partition(queue.queued, lambda entry: entry.received_at > oldest)
    kept, surplus = fresh[: limits.account_queued], fresh[limits.account_queued :]
    return SettledPool(
        queue=queue._replace(used=(), queued=tuple(kept)),
        dropped=(*oversized, *queue.used, *expired, *surplus),
    )


def select(
    pending: Iterable[Sequence[PoolEntry]],
    base_fee: int,
    gas_limit: int,
    minimum_tip: int = 0,
    most_bytes: int = _ANY_SIZE,
    *,
    by_arrival: bool = False,
    most: int = 0,
) -> tuple[PoolEntry, ...]:
    """Select transactions for a block from queues' pending parts, in the order in which they run.

    The sum of their gas limits stays within gas_limit. They use less gas than that, so a
    caller whose engine skips transactions that do not fit may pass more than one block's limit. The sum of
    their envelopes stays within most_bytes. `by_arrival` ignores what they pay: the earliest of the queues' next
    transactions runs first. `most` is the maximum number of transactions; 0: no maximum.

    Unspecified: as in go-ethereum, a transaction that does not fit ends its sender's queue, and the
    search continues with the other queues.
    """
    chosen: list[PoolEntry] = []
    heads = _Heads(pending, base_fee, minimum_tip, by_arrival=by_arrival)
    while (best := heads.best()) is not None and not 0 < most <= len(chosen):
        if best.gas > gas_limit or best.size > most_bytes:
            heads.leave()
        else:
            gas_limit -= best.gas
            most_bytes -= best.size
            chosen.append(best)
            heads.advance()
    return tuple(chosen)


class _Heads:
    """The next transaction of each queue that can be in a block, the best one first."""

    def __init__(
        self,
        pending: Iterable[Sequence[PoolEntry]],
        base_fee: int,
        minimum_tip: int,
        *,
        by_arrival: bool,
    ) -> None:
        self._by_arrival = by_arrival
        self._base_fee = base_fee
        self._minimum_tip = minimum_tip
        self._heap: list[tuple[int, int, int, Sequence[PoolEntry]]] = []
        for queue in pending:
            self._push(queue, 0)

    def best(self) -> PoolEntry | None:
        """Return the head that pays most, among equals the earliest, or the earliest of all; None if no head is left."""
        if not self._heap:
            return None
        _, _, index, queue = self._heap[0]
        return queue[index]

    def advance(self) -> None:
        """Advance the best head's queue, if its next transaction pays the minimum tip."""
        _, _, index, queue = heappop(self._heap)
        self._push(queue, index + 1)

    def leave(self) -> None:
        """Drop the rest of the best head's queue."""
        heappop(self._heap)

    def _push(self, queue: Sequence[PoolEntry], index: int) -> None:
        if index == len(queue):
            return
        tip = queue[index].effective_tip(self._base_fee)
        if tip >= self._minimum_tip:
            heappush(
                self._heap,
                (0 if self._by_arrival else -tip, queue[index].arrival, index, queue),
            )


def _partition(
    entries: Iterable[PoolEntry], keep: Callable[[PoolEntry], bool]
) -> tuple[list[PoolEntry], list[PoolEntry]]:
    """Return the entries to keep and the others."""
    kept: list[PoolEntry] = []
    rest: list[PoolEntry] = []
    for entry in entries:
        (kept if keep(entry) else rest).append(entry)
    return kept, rest


def _nonce(entry: PoolEntry) -> int:
    return entry.nonce
