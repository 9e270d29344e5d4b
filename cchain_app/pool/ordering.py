"""What of the waiting transactions can run now, in which order, and what a new head changes.

A sender's transactions form a lane: the gap-free and funded ones from the account's nonce on are
executable, all behind them are queued. Nobody stores which is which: it follows from the account.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.limits import PoolLimits

_ANY_SIZE = 1 << 62


class Lane(NamedTuple):
    """A sender's waiting transactions, each part in ascending order of nonces."""

    used: tuple[PoolEntry, ...]
    """Whose nonces the account has passed: they can never run."""
    executable: tuple[PoolEntry, ...]
    """Without a gap from the account's nonce on, and together within its balance."""
    queued: tuple[PoolEntry, ...]
    """Behind a gap, or without funds."""
    spent: int
    """The most that the executable part can take from its sender, in wei."""

    @property
    def waiting(self) -> tuple[PoolEntry, ...]:
        """All of it, in ascending order of nonces."""
        return (*self.used, *self.executable, *self.queued)

    def at(self, nonce: int) -> PoolEntry | None:
        """Return what waits with this nonce."""
        if self.executable:
            place = nonce - self.executable[0].nonce
            if 0 <= place < len(self.executable):
                return self.executable[place]
        return next((entry for entry in (*self.queued, *self.used) if entry.nonce == nonce), None)


EMPTY_LANE = Lane((), (), (), 0)
"""Of a sender of whom nothing waits."""


class Settled(NamedTuple):
    """What a new head makes of a sender's waiting transactions."""

    lane: Lane
    """What stays; nothing of it is `used`."""
    dropped: tuple[PoolEntry, ...]


def split(waiting: Iterable[PoolEntry], nonce: int, balance: int) -> Lane:
    """Split a sender's waiting transactions by the account's next nonce and balance (wei).

    Unspecified: funds are counted over the whole lane, so a sender cannot fill blocks with
    transactions that fail for want of money; go-ethereum compares each one alone after a block.
    """
    used: list[PoolEntry] = []
    executable: list[PoolEntry] = []
    queued: list[PoolEntry] = []
    funds = balance
    for entry in sorted(waiting, key=_nonce):
        if entry.nonce < nonce:
            used.append(entry)
        elif entry.nonce == nonce + len(executable) and entry.cost <= funds:
            executable.append(entry)
            funds -= entry.cost
        else:
            queued.append(entry)
    return Lane(tuple(used), tuple(executable), tuple(queued), balance - funds)


def extend(lane: Lane, entry: PoolEntry, nonce: int, balance: int) -> Lane:
    """Return the lane with one more transaction, whose nonce nothing in it has.

    The usual case, the next nonce of a lane without a queue, costs no look at the others.
    """
    following = nonce + len(lane.executable)
    if entry.nonce == following and not lane.queued and lane.spent + entry.cost <= balance:
        return lane._replace(executable=(*lane.executable, entry), spent=lane.spent + entry.cost)
    return split((*lane.waiting, entry), nonce, balance)


def next_nonce(nonce: int, waiting: Iterable[PoolEntry]) -> int:
    """Return the first nonce from the account's on that no waiting transaction has.

    Give it a lane's executable part for eth_getTransactionCount with `pending`.
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
    lane = split(fitting, nonce, balance)
    oldest = now - limits.queued_lifetime
    fresh, expired = _partition(lane.queued, lambda entry: entry.received_at > oldest)
    kept, surplus = fresh[: limits.account_queued], fresh[limits.account_queued :]
    return Settled(
        lane=lane._replace(used=(), queued=tuple(kept)),
        dropped=(*oversized, *lane.used, *expired, *surplus),
    )


def select(
    executable: Iterable[Sequence[PoolEntry]],
    base_fee: int,
    gas_limit: int,
    minimum_tip: int = 0,
    most_bytes: int = _ANY_SIZE,
) -> tuple[PoolEntry, ...]:
    """Choose transactions for a block from lanes' executable parts, in the order in which they run.

    The gas limits of those chosen stay within gas_limit together. They use less than that, so a
    caller whose engine leaves out what does not fit may give more than one block's limit. Their
    envelopes stay within most_bytes together.

    Unspecified: as in go-ethereum a sender's transaction that does not fit ends its lane, and the
    search goes on with the others.
    """
    chosen: list[PoolEntry] = []
    heads = _Heads(executable, base_fee, minimum_tip)
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
    """The first transactions of all lanes that can be in a block, the best one foremost."""

    def __init__(
        self, executable: Iterable[Sequence[PoolEntry]], base_fee: int, minimum_tip: int
    ) -> None:
        self._base_fee = base_fee
        self._minimum_tip = minimum_tip
        self._heap: list[tuple[int, int, int, Sequence[PoolEntry]]] = []
        for lane in executable:
            self._push(lane, 0)

    def best(self) -> PoolEntry | None:
        """Return the head that pays most, of equal ones the earliest; None when there is none."""
        if not self._heap:
            return None
        _, _, index, lane = self._heap[0]
        return lane[index]

    def advance(self) -> None:
        """Go on in the best head's lane, as far as the next one pays what a block wants."""
        _, _, index, lane = heappop(self._heap)
        self._push(lane, index + 1)

    def leave(self) -> None:
        """Take nothing more from the best head's lane."""
        heappop(self._heap)

    def _push(self, lane: Sequence[PoolEntry], index: int) -> None:
        if index == len(lane):
            return
        tip = lane[index].effective_tip(self._base_fee)
        if tip >= self._minimum_tip:
            heappush(self._heap, (-tip, lane[index].arrival, index, lane))


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
