"""What of the waiting transactions can run now, in which order, and what a new head changes.

A sender's transactions form a queue: the gap-free and funded ones from the account's nonce on are
pending, all behind them are queued. Nobody stores which is which: it follows from the account.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.limits import PoolLimits

_ANY_SIZE = 1 << 62


class AccountQueue(NamedTuple):
    """A sender's waiting transactions, each part in ascending order of nonces."""

    used: tuple[PoolEntry, ...]
    """Whose nonces the account has passed: they can never run."""
    pending: tuple[PoolEntry, ...]
    """Without a gap from the account's nonce on, and together within its balance."""
    queued: tuple[PoolEntry, ...]
    """Behind a gap, or without funds."""
    spent: int
    """The most that the pending part can take from its sender, in wei."""

    @property
    def waiting(self) -> tuple[PoolEntry, ...]:
        """All of it, in ascending order of nonces."""
        return (*self.used, *self.pending, *self.queued)

    def at(self, nonce: int) -> PoolEntry | None:
        """Return what waits with this nonce."""
        if self.pending:
            place = nonce - self.pending[0].nonce
            if 0 <= place < len(self.pending):
                return self.pending[place]
        return next((entry for entry in (*self.queued, *self.used) if entry.nonce == nonce), None)


EMPTY_ACCOUNT_QUEUE = AccountQueue((), (), (), 0)
"""Of a sender of whom nothing waits."""


class Settled(NamedTuple):
    """What a new head makes of a sender's waiting transactions."""

    queue: AccountQueue
    """What stays; nothing of it is `used`."""
    dropped: tuple[PoolEntry, ...]


def split(waiting: Iterable[PoolEntry], nonce: int, balance: int) -> AccountQueue:
    """Split a sender's waiting transactions by the account's next nonce and balance (wei).

    Unspecified: funds are counted over the whole queue, so a sender cannot fill blocks with
    transactions that fail for want of money; go-ethereum compares each one alone after a block.
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
    """Return the queue with one more transaction, whose nonce nothing in it has.

    The usual case, the next nonce of a queue without a queue, costs no look at the others.
    """
    following = nonce + len(queue.pending)
    if entry.nonce == following and not queue.queued and queue.spent + entry.cost <= balance:
        return queue._replace(pending=(*queue.pending, entry), spent=queue.spent + entry.cost)
    return split((*queue.waiting, entry), nonce, balance)


def next_nonce(nonce: int, waiting: Iterable[PoolEntry]) -> int:
    """Return the first nonce from the account's on that no waiting transaction has.

    Give it a queue's pending part for eth_getTransactionCount with `pending`.
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
) -> Settled:
    """Say what stays of a sender's waiting transactions on a new head, and what must go.

    Used ones go, those with more gas than a block has, queued ones older than their lifetime (now
    in Unix seconds), and of the queued ones that are too many the highest nonces.

    Unspecified: a lifetime begins with a transaction's own arrival, not with its sender's last.
    """
    fitting, oversized = _partition(waiting, lambda entry: entry.gas <= block_gas_limit)
    queue = split(fitting, nonce, balance)
    oldest = now - limits.queued_lifetime
    fresh, expired = _partition(queue.queued, lambda entry: entry.received_at > oldest)
    kept, surplus = fresh[: limits.account_queued], fresh[limits.account_queued :]
    return Settled(
        queue=queue._replace(used=(), queued=tuple(kept)),
        dropped=(*oversized, *queue.used, *expired, *surplus),
    )


def select(
    pending: Iterable[Sequence[PoolEntry]],
    base_fee: int,
    gas_limit: int,
    minimum_tip: int = 0,
    most_bytes: int = _ANY_SIZE,
) -> tuple[PoolEntry, ...]:
    """Choose transactions for a block from queues' pending parts, in the order in which they run.

    The gas limits of those chosen stay within gas_limit together. They use less than that, so a
    caller whose engine leaves out what does not fit may give more than one block's limit. Their
    envelopes stay within most_bytes together.

    Unspecified: as in go-ethereum a sender's transaction that does not fit ends its queue, and the
    search goes on with the others.
    """
    chosen: list[PoolEntry] = []
    heads = _Heads(pending, base_fee, minimum_tip)
    while (best := heads.best()) is not None:
        if best.gas > gas_limit or best.size > most_bytes:
            heads.leave()
        else:
            gas_limit -= best.gas
            most_bytes -= best.size
            chosen.append(best)
            heads.advance()
    return tuple(chosen)


class _Heads:
    """The first transactions of all queues that can be in a block, the best one foremost."""

    def __init__(
        self, pending: Iterable[Sequence[PoolEntry]], base_fee: int, minimum_tip: int
    ) -> None:
        self._base_fee = base_fee
        self._minimum_tip = minimum_tip
        self._heap: list[tuple[int, int, int, Sequence[PoolEntry]]] = []
        for queue in pending:
            self._push(queue, 0)

    def best(self) -> PoolEntry | None:
        """Return the head that pays most, of equal ones the earliest; None when there is none."""
        if not self._heap:
            return None
        _, _, index, queue = self._heap[0]
        return queue[index]

    def advance(self) -> None:
        """Go on in the best head's queue, as far as the next one pays what a block wants."""
        _, _, index, queue = heappop(self._heap)
        self._push(queue, index + 1)

    def leave(self) -> None:
        """Take nothing more from the best head's queue."""
        heappop(self._heap)

    def _push(self, queue: Sequence[PoolEntry], index: int) -> None:
        if index == len(queue):
            return
        tip = queue[index].effective_tip(self._base_fee)
        if tip >= self._minimum_tip:
            heappush(self._heap, (-tip, queue[index].arrival, index, queue))


def _partition(
    entries: Iterable[PoolEntry], keep: Callable[[PoolEntry], bool]
) -> tuple[list[PoolEntry], list[PoolEntry]]:
    """Return those that are kept and those that are not."""
    kept: list[PoolEntry] = []
    rest: list[PoolEntry] = []
    for entry in entries:
        (kept if keep(entry) else rest).append(entry)
    return kept, rest


def _nonce(entry: PoolEntry) -> int:
    return entry.nonce
