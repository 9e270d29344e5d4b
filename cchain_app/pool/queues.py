"""The pool as a queue for each sender: admission of a transaction, selection for a block, changes by a new head.

A sender's gap-free and funded transactions from the account's nonce on are pending, all after them are queued. This
status is not stored, because it follows from the account. The rules of admission and their order are go-ethereum's;
`checks` has those that come first, `eviction` the choice of transactions that leave a full pool.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from cchain_app.pool.delegation import Delegation, check_delegation
from cchain_app.pool.entry import AccountQueue, PoolEntry, PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.pool.eviction import make_room, slots_of
from cchain_app.txs.transaction import InvalidTransaction
from primitives.evm import Hash
from primitives.hexadecimal import checksum_address

_ANY_SIZE: Final = 1 << 62

Outcome = Hash | PoolRejection | InvalidTransaction
"""The hash of an admitted transaction, or the reason why it was not admitted."""


class PoolCounts(NamedTuple):
    """The number of used slots in the pool."""

    pending: int
    queued: int


class BlobMarket(NamedTuple):
    """What a block has for blobs."""

    price: int
    """Base fee of its blob gas, in wei."""
    most: int
    """Maximum number of its blobs."""


NO_BLOBS: Final = BlobMarket(0, 0)
"""A block without blob transactions."""


class Admission(NamedTuple):
    """The effects of admitting a transaction."""

    pending: bool
    """Whether it can run now; else it is queued."""
    replaces: PoolEntry | None
    """The transaction with the same nonce that is removed."""
    promoted: tuple[PoolEntry, ...]
    """Queued transactions of the sender that become pending."""
    evicted: tuple[PoolEntry, ...]
    """Other transactions that are evicted; never one that is in `promoted`."""
    queue: AccountQueue
    """The sender's transactions in the pool afterwards."""


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


def check_against(
    entry: PoolEntry,
    *,
    nonce: int,
    balance: int,
    queue: AccountQueue,
    delegation: Delegation,
    counts: PoolCounts | None,
    others: Callable[[], Iterable[AccountQueue]],
    limits: PoolLimits,
    base_fee: int,
) -> Admission:
    """Check a transaction against its sender's account and the pool, and return the effects of admitting it.

    Args:
        entry: The transaction, after `check_before_sender` and `check_after_sender`.
        nonce: The account's next nonce at the head.
        balance: The account's balance at the head, in wei.
        queue: The sender's transactions in the pool, split by that nonce and balance.
        delegation: The EIP-7702 status of its accounts.
        counts: The used slots of the pool; None if it is far from its limits.
        others: Returns all other senders' queues; only called if the pool is full.
        limits: The pool's limits.
        base_fee: Base fee of the next block, in wei.

    Raises:
        PoolRejection: In this order: it is known, its fee cap is too low, its nonce is used, the sender cannot pay
            it, it breaks a limit of delegated accounts, it replaces another one without paying enough more, the sender
            has too many queued ones, or the pool is full of better ones.
    """
    replaces = queue.at(entry.nonce)
    if replaces is not None and replaces.hash == entry.hash:
        raise PoolRejection(PoolReason.ALREADY_KNOWN)
    if entry.max_fee_per_gas < limits.minimum_fee:
        raise PoolRejection(
            PoolReason.FEE_CAP_BELOW_MINIMUM,
            sender=checksum_address(entry.sender),
            fee_cap=entry.max_fee_per_gas,
            minimum=limits.minimum_fee,
        )
    if entry.nonce < nonce:
        raise PoolRejection(PoolReason.NONCE_TOO_LOW, next_nonce=nonce, nonce=entry.nonce)
    _check_funds(entry, balance, queue)
    check_delegation(entry, delegation, queue, nonce)
    if replaces is not None:
        _check_replacement(entry, replaces, limits)
    kept = queue if replaces is None else _without(queue, replaces, nonce, balance)
    after, evicted = _cap_queue(extend(kept, entry, nonce, balance), entry, limits)
    if counts is not None and _is_too_full(counts, queue, after, limits):
        evicted += make_room(entry, after, others(), limits, base_fee)
    return Admission(
        pending=entry.nonce - nonce < len(after.pending),
        replaces=replaces,
        promoted=_promoted(entry, queue, after, evicted),
        evicted=evicted,
        queue=after if not evicted else _less(after, evicted, nonce, balance),
    )


def _without(queue: AccountQueue, entry: PoolEntry, nonce: int, balance: int) -> AccountQueue:
    return split((pooled for pooled in queue.waiting if pooled is not entry), nonce, balance)


def _less(queue: AccountQueue, gone: Sequence[PoolEntry], nonce: int, balance: int) -> AccountQueue:
    hashes = {entry.hash for entry in gone}
    return split((entry for entry in queue.waiting if entry.hash not in hashes), nonce, balance)


def _promoted(
    entry: PoolEntry, before: AccountQueue, after: AccountQueue, evicted: Sequence[PoolEntry]
) -> tuple[PoolEntry, ...]:
    """Return the other transactions that the entry made pending; only queued ones can be."""
    if not before.queued:
        return ()
    staying = {queued.hash for queued in before.queued} - {leaving.hash for leaving in evicted}
    return tuple(pending for pending in after.pending if pending.hash in staying)


def _check_funds(entry: PoolEntry, balance: int, queue: AccountQueue) -> None:
    if entry.cost > balance:
        raise PoolRejection(
            PoolReason.FUNDS_BELOW_COST,
            balance=balance,
            cost=entry.cost,
            overshot=entry.cost - balance,
        )
    spent = queue.spent
    previous = queue.at(entry.nonce)
    if previous is None or previous in queue.queued:
        if spent + entry.cost > balance:
            raise PoolRejection(
                PoolReason.FUNDS_BELOW_QUEUED_COST,
                balance=balance,
                queued=spent,
                cost=entry.cost,
                overshot=spent + entry.cost - balance,
            )
    elif spent - previous.cost + entry.cost > balance:
        raise PoolRejection(
            PoolReason.FUNDS_BELOW_REPLACEMENT_COST,
            balance=balance,
            queued=spent,
            bump=entry.cost - previous.cost,
            overshot=spent - previous.cost + entry.cost - balance,
        )


def _check_replacement(entry: PoolEntry, previous: PoolEntry, limits: PoolLimits) -> None:
    """Check that a transaction pays enough more than the one with the same nonce.

    Unspecified: go-ethereum has a pool of its own for blob transactions, and does not let them replace other
    transactions, nor the reverse. Here they may, at the price of blob transactions.
    """
    if not (entry.blobs or previous.blobs):
        if not _outbids(entry, previous, limits.price_bump):
            raise PoolRejection(PoolReason.REPLACEMENT_UNDERPRICED)
        return
    bump = limits.blob_price_bump
    for name, have, before in (
        ("gas tip cap", entry.max_priority_fee_per_gas, previous.max_priority_fee_per_gas),
        ("gas fee cap", entry.max_fee_per_gas, previous.max_fee_per_gas),
        ("blob gas fee cap", entry.max_fee_per_blob_gas, previous.max_fee_per_blob_gas),
    ):
        if name.startswith("blob") and not (entry.blobs and previous.blobs):
            continue
        if have < before * (100 + bump) // 100:
            raise PoolRejection(
                PoolReason.BLOB_REPLACEMENT_UNDERPRICED,
                fee=name,
                have=have,
                before=before,
                bump=bump,
            )


def _outbids(entry: PoolEntry, previous: PoolEntry, price_bump: int) -> bool:
    """Return whether both fees are higher by the given percentage (rounded down to whole wei)."""
    return _is_bumped(entry.max_fee_per_gas, previous.max_fee_per_gas, price_bump) and _is_bumped(
        entry.max_priority_fee_per_gas, previous.max_priority_fee_per_gas, price_bump
    )


def _is_bumped(price: int, previous: int, price_bump: int) -> bool:
    return price > previous and price >= previous * (100 + price_bump) // 100


def _cap_queue(
    queue: AccountQueue, entry: PoolEntry, limits: PoolLimits
) -> tuple[AccountQueue, tuple[PoolEntry, ...]]:
    """Remove the highest nonces from a queue that the entry made too long."""
    surplus = queue.queued[limits.account_queued :]
    if not surplus or entry not in queue.queued:
        return queue, ()
    if entry in surplus:
        raise PoolRejection(PoolReason.ACCOUNT_LIMIT_EXCEEDED, pooled=len(queue.queued) - 1)
    return queue._replace(queued=queue.queued[: limits.account_queued]), surplus


def _is_too_full(
    counts: PoolCounts, before: AccountQueue, after: AccountQueue, limits: PoolLimits
) -> bool:
    pending = counts.pending + slots_of(after.pending) - slots_of(before.pending)
    queued = counts.queued + slots_of(after.queued) - slots_of(before.queued)
    return pending > limits.pending_slots or queued > limits.queued_slots


def select(
    pending: Iterable[Sequence[PoolEntry]],
    base_fee: int,
    gas_limit: int,
    minimum_tip: int = 0,
    most_bytes: int = _ANY_SIZE,
    *,
    by_arrival: bool = False,
    most: int = 0,
    blobs: BlobMarket = NO_BLOBS,
) -> tuple[PoolEntry, ...]:
    """Select transactions for a block from queues' pending parts, in the order in which they run.

    The sum of their gas limits stays within gas_limit. They use less gas than that, so a
    caller whose engine skips transactions that do not fit may pass more than one block's limit. The sum of
    their envelopes stays within most_bytes. With `by_arrival` tips do not matter: the earliest of the queues' next
    transactions runs first. `most` is the maximum number of transactions; 0: no maximum.

    Unspecified: as in go-ethereum, a transaction that does not fit, or does not pay for its blobs, ends its sender's
    queue, and the search continues with the other queues.
    """
    chosen: list[PoolEntry] = []
    heads = _Heads(pending, base_fee, minimum_tip, by_arrival=by_arrival)
    blobs_left = blobs.most
    while (best := heads.best()) is not None and not 0 < most <= len(chosen):
        if (
            best.gas > gas_limit
            or best.size > most_bytes
            or best.blobs > blobs_left
            or (best.blobs and best.max_fee_per_blob_gas < blobs.price)
        ):
            heads.leave()
        else:
            gas_limit -= best.gas
            most_bytes -= best.size
            blobs_left -= best.blobs
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
