"""A process's caches of the chain: the head, recent blocks, pending transactions, and overrides for future blocks.

All of them are bounded. The process that writes a block advances its own memory with the block's changes (`advance`).
Other processes are notified by an event and forget the changed values (`selectors.blocks.catch_up`).

Hooks publish a change to the other processes of the machine before any response reveals it. They do nothing unless
they are set: `BlockMemory.before_move`, `PoolMemory.shared` and `Memory.on_rewind`.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.evm.engine import StateChanges
from cchain_app.memory.fees import FeesMemory
from cchain_app.memory.state import CacheUsage, StateMemory
from cchain_app.pool.entry import PoolEntry
from cchain_app.txs.transaction import Transaction
from primitives.bounded_cache import BoundedCache, HitCounter
from primitives.evm import Address, Hash

if TYPE_CHECKING:
    import cchain_native

FEW = 64
"""Up to this number of missed blocks is read; if there are more, the memory is reset."""

POOL_TRANSACTIONS = 8192
"""Limit of the decoded transactions in memory: a full pool of the default size, and some more."""


PoolKey = tuple[int, bytes]
"""Key of a row of the pool, and the hash of its transaction."""


class PoolTag(NamedTuple):
    """Identifies the content of the pool at a head."""

    height: int
    """Height of the head."""
    transactions: int
    newest: int | None
    """The key of the last row of the pool."""


def _no_listener(_number: int, _begins: bool) -> None:  # noqa: FBT001
    """Ignore a new head; the default hook."""


def _nothing() -> None:
    """Do nothing."""


class BlockMemory:
    """Recent accepted blocks, by number, by hash and by their transactions."""

    def __init__(self, *, blocks: int) -> None:
        self._lock = threading.Lock()
        self._most = blocks
        self._by_number: dict[int, AcceptedBlock] = {}
        self._by_hash: dict[Hash, AcceptedBlock] = {}
        self._places: dict[Hash, tuple[AcceptedBlock, int]] = {}
        self.head: AcceptedBlock | None = None
        """The head as this process sees it; None before it was first read."""
        self.version = 0
        """Number of resets. After a reset different blocks may follow the same head."""
        self.asked = HitCounter()
        """Hits and misses, counted by `selectors.blocks`, which knows whether it had to read a block."""
        self.before_move: Callable[[int, bool], object] = _no_listener
        """Called before a new head becomes visible, with the same arguments as `on_head`."""
        self.on_move: Callable[[], None] = _nothing
        """Called before the head changes."""
        self.on_head: Callable[[int, bool], None] = _no_listener
        """Called after the head has changed: its height, and whether the memory was reset to it."""

    def __len__(self) -> int:
        return len(self._by_number)

    def by_number(self, number: int) -> AcceptedBlock | None:
        """Return a block in memory by its height."""
        return self._by_number.get(number)

    def by_hash(self, block_hash: Hash) -> AcceptedBlock | None:
        """Return a block in memory by its hash."""
        return self._by_hash.get(block_hash)

    def position_of(self, transaction_hash: Hash) -> tuple[AcceptedBlock, int] | None:
        """Return the block in memory that contains a transaction, and the transaction's index in it."""
        return self._places.get(transaction_hash)

    def remember_read(self, block: AcceptedBlock, version: int) -> None:
        """Keep a block that was read at the given version, unless the memory was reset since."""
        with self._lock:
            if self.version == version:
                self._keep(block)

    def follow(self, block: AcceptedBlock) -> None:
        """Keep the block after the head and make it the head."""
        with self._lock:
            self._keep(block)
        self.before_move(block.number, False)
        self.on_move()
        self.head = block
        self.on_head(block.number, False)

    def reset(self, head: AcceptedBlock) -> None:
        """Forget all blocks and start again from a head."""
        with self._lock:
            self.version += 1
            self._by_number.clear()
            self._by_hash.clear()
            self._places.clear()
            self._keep(head)
        self.before_move(head.number, True)
        self.on_move()
        self.head = head
        self.on_head(head.number, True)

    def _keep(self, block: AcceptedBlock) -> None:
        """Keep a block, and forget another one if there are too many.

        Half of the capacity is reserved for the blocks right below the head, so that a client that reads old blocks,
        a thousand per request, does not evict them. A `BoundedCache` cannot do that.
        """
        if block.hash in self._by_hash:
            return
        self._by_number[block.number] = block
        self._by_hash[block.hash] = block
        for index, transaction in enumerate(block.transactions):
            self._places[transaction.hash] = (block, index)
        while len(self._by_number) > self._most:
            self._forget(self._oldest_kept())

    def _oldest_kept(self) -> int:
        """Return the number of the block that was kept first among those far below the head."""
        recent = max(self._by_number) - self._most // 2
        return next(number for number in self._by_number if number <= recent)

    def _forget(self, number: int) -> None:
        block = self._by_number.pop(number)
        del self._by_hash[block.hash]
        for transaction in block.transactions:
            self._places.pop(transaction.hash, None)


class TransactionMemory:
    """Transactions that this process received and that were in no block when they were kept."""

    def __init__(self, *, transactions: int) -> None:
        self._by_hash: BoundedCache[Hash, Transaction] = BoundedCache(transactions)
        self.asked = HitCounter()

    def __len__(self) -> int:
        return len(self._by_hash)

    def __contains__(self, transaction_hash: Hash) -> bool:
        return transaction_hash in self._by_hash

    def get(self, transaction_hash: Hash) -> Transaction | None:
        """Return a transaction in memory; on a miss the caller decodes it."""
        found = self._by_hash.peek(transaction_hash)
        if found is None:
            self.asked.miss()
        else:
            self.asked.hit()
        return found

    def remember(self, transactions: Iterable[Transaction]) -> None:
        """Keep transactions, and forget the oldest ones if there are too many."""
        for transaction in transactions:
            self._by_hash.put(transaction.hash, transaction)

    def forget(self, transactions: Iterable[Transaction]) -> None:
        """Forget transactions that are in a block now, or that the pool rejected."""
        for transaction in transactions:
            self._by_hash.pop(transaction.hash)

    def reset(self) -> None:
        """Forget all transactions."""
        self._by_hash.clear()


SHARED_SECONDS = 1.0
"""Seconds for which a pending nonce is kept if other processes change the pool too.

Some changes are not counted: those of a process that was killed between commit and count, those of a process that could
not open the shared page, and those of other machines whose event was lost."""

NonceTag = tuple[int, int, int | None, float]
"""Identifies a pool at a head: changes that this process knows of, changes by all processes of the machine, the head's
height, and the period of time in which nonces are kept."""


class PoolChanges(Protocol):
    """Counts the changes of the pool by all processes of the machine."""

    @property
    def pool_changes(self) -> int:
        """The number of changes so far."""

    def count_pool_change(self) -> None:
        """Count a change."""


class PoolMemory:
    """Pending nonces, valid as long as neither the pool nor the head has changed.

    Only where all changes are counted: in the embedded profile one process makes them, in production the processes of a
    machine share the count, and events announce the changes by other machines.
    """

    def __init__(self, *, senders: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.changes = 0
        """Number of changes of the pool that this process made or heard of."""
        self.shared: PoolChanges | None = None
        """Counts the changes of this process and of others; None: no other process changes the pool."""
        self._clock = clock
        self._nonces: BoundedCache[Address, tuple[NonceTag, int]] = BoundedCache(senders)
        self.asked = HitCounter()
        self.entries: Mapping[PoolKey, PoolEntry] = {}
        """The pool's rows when they were last read: a row with a given key and hash never changes."""

    def __len__(self) -> int:
        return len(self._nonces)

    def tag(self, state: StateMemory) -> NonceTag:
        """Return the tag that identifies the current pool and head. Take it before reading a nonce."""
        if self.shared is None:
            return self.changes, 0, state.number, 0.0
        period = self._clock() // SHARED_SECONDS
        return self.changes, self.shared.pool_changes, state.number, period

    def changed(self) -> None:
        """Record that this process has changed the pool: after each commit that did, before any response shows it."""
        self.changes += 1
        if self.shared is not None:
            self.shared.count_pool_change()

    def note_event(self) -> None:
        """Record an event about pending transactions: another machine may have stored them."""
        self.changes += 1

    def reset(self) -> None:
        """Forget all nonces and entries."""
        self.changed()
        self.entries = {}

    def nonce(self, address: Address, tag: NonceTag) -> int | None:
        """Return the remembered pending nonce, if nothing has changed since."""
        kept = self._nonces.peek(address)
        if kept is None or kept[0] != tag:
            return None
        self.asked.hit()
        return kept[1]

    def remember_nonce(self, address: Address, nonce: int, tag: NonceTag) -> None:
        """Keep a pending nonce that was read after the tag was taken."""
        self.asked.miss()
        if tag[2] is None:
            return  # the head was moving
        self._nonces.put(address, (tag, nonce))


class CountsMemory:
    """The numbers of pending and queued transactions, valid as long as head and pool are the same.

    Counting examines every transaction.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[PoolTag, tuple[int, int]] | None = None
        self._resets = 0

    def of(self, tag: PoolTag, count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """Return the counts; count again only if the tag has changed."""
        known, resets = self._known, self._resets
        if known is not None and known[0] == tag:
            return known[1]
        counted = count() if tag.transactions else (0, 0)
        with self._lock:
            if (
                self._resets == resets
            ):  # otherwise the chain may get the same tag again after a rewind
                self._known = (tag, counted)
        return counted

    def reset(self) -> None:
        """Forget the counts, including those that are being computed now."""
        with self._lock:
            self._known = None
            self._resets += 1


class OverridesMemory:
    """The overrides for future blocks when they were last read. Only for a development chain."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: NextBlockOverrides | None = None
        self._changes = 0
        self.on_reset: Callable[[], None] = _nothing
        """Called when the overrides may have changed."""

    def of(self, read: Callable[[], NextBlockOverrides]) -> NextBlockOverrides:
        """Return the overrides; read them if they are not known."""
        known, changes = self._known, self._changes
        if known is not None:
            return known
        found = read()
        with self._lock:
            if self._changes == changes:  # otherwise they may have been read before the change
                self._known = found
        return found

    def refresh(self, read: Callable[[], NextBlockOverrides]) -> None:
        """Read the overrides again, because another process may have paused or resumed production."""
        changes = self._changes
        found = read()
        with self._lock:
            if self._changes != changes or self._known == found:
                return
            is_other = self._known is not None
            self._known = found
            self._changes += 1
        if is_other:
            self.on_reset()

    def reset(self) -> None:
        """Forget the overrides, including those that are being read: to be called after each commit that changed them."""
        with self._lock:
            self._known = None
            self._changes += 1
        self.on_reset()


class Memory:
    """All caches of a process for a chain.

    Args:
        state: The accounts and slots of its head, and code.
        accounts: Limit of the remembered pending nonces.
        blocks: Limit of the remembered blocks.
        answers: The native engine's own answers to requests about the head, if the chain uses that engine.
    """

    def __init__(
        self,
        state: StateMemory,
        *,
        accounts: int,
        blocks: int,
        answers: "cchain_native.HotAnswers | None" = None,
    ) -> None:
        self.state = state
        self.answers = answers
        self.blocks = BlockMemory(blocks=blocks)
        self.pool = PoolMemory(senders=accounts)
        self.transactions = TransactionMemory(transactions=POOL_TRANSACTIONS)
        self.counts = CountsMemory()
        self.conditions = OverridesMemory()
        self.fees = FeesMemory()
        self.moving = threading.Lock()
        """Held while the head is moved."""
        self.generation: int | None = None
        """The number of rewinds (`chaindb.generation`) when the memory last agreed with the rows."""
        self.on_rewind: Callable[[], object] = _nothing
        """Called after the commit of a rewind."""
        if answers is not None:
            self.blocks.on_move = answers.begin_move
            self.blocks.on_head = answers.set_head
            self.conditions.on_reset = answers.end_epoch

    def kept(self) -> dict[str, CacheUsage]:
        """Return the size and the hits of each cache, for monitoring."""
        return {
            **self.state.kept(),
            "blocks": CacheUsage.of(len(self.blocks), self.blocks.asked),
            "transactions": CacheUsage.of(len(self.transactions), self.transactions.asked),
            "pending_nonces": CacheUsage.of(len(self.pool), self.pool.asked),
        }

    def rules_changed(self) -> None:
        """Invalidate answers that depend on the chain's rules, which have changed."""
        if self.answers is not None:
            self.answers.end_epoch()

    def follow(self, block: AcceptedBlock) -> None:
        """Make the block after the head the head. The state is moved separately."""
        self.blocks.follow(block)
        # Last: until here a reader that does not find a transaction in a block finds it pending.
        self.transactions.forget(block.transactions)

    def reset_to(self, head: AcceptedBlock) -> None:
        """Forget everything and start again from a head."""
        self.state.reset(head.number)
        self.blocks.reset(head)
        self.transactions.reset()
        self.conditions.reset()
        self.pool.reset()
        self.counts.reset()
        self.fees.reset()

    def advance(self, block: AcceptedBlock, changes: StateChanges) -> None:
        """Take a block that this process has just committed on top of the remembered head."""
        with self.moving:
            head = self.blocks.head
            if head is None or block.header.parent_hash != head.hash:
                return  # another process was faster: `catch_up` will read this block too
            self.state.advance(block.number, changes)
            self.follow(block)
