"""What a process remembers of the chain: the head, recent blocks, what waits, and what was set by hand.

All of it is bounded. The writer of a block advances the memory of its own process with what it knows (`advance`);
other processes are told by a pointer and forget what changed (`selectors.blocks.catch_up`).

What other processes of the same machine are to know of it before anybody is answered from it goes by hooks, which
do nothing unless they are set: `BlockMemory.before_move`, `Memory.on_change` and `until_told`, and those of the pool.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.development.changes import Change
from cchain_app.development.conditions import Conditions
from cchain_app.evm.engine import StateChanges
from cchain_app.memory.state import Kept, StateMemory, shrink
from cchain_app.pool.entry import PoolEntry
from cchain_app.txs.transaction import Transaction
from primitives.counting import Asked
from primitives.evm import Address, Hash

if TYPE_CHECKING:
    import cchain_native

FEW = 64
"""So many missed blocks are read; after more, the memory begins anew."""

POOL_TRANSACTIONS = 8192
"""Decoded transactions kept in memory: a full pool of the default size, and some more."""


PoolKey = tuple[int, bytes]
"""Key of a row of the pool, and the hash of its transaction."""


class PoolTag(NamedTuple):
    """What tells a pool on a head from others."""

    height: int
    """Of the head."""
    transactions: int
    newest: int | None
    """The key of the last row."""


def _nobody_listens(_number: int, _begins: bool) -> None:  # noqa: FBT001
    """Take what nobody wants to know."""


def _at_once(_number: int) -> None:
    """Wait for nobody."""


def _never() -> int:
    """Return that others have changed nothing."""
    return 0


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
        """The head as this process sees it; None before the first question."""
        self.version = 0
        """How often it began again at a head, from which the chain may go on with other blocks."""
        self.asked = Asked()
        """By `selectors.blocks`, which knows whether an answer had to be read."""
        self.before_move: Callable[[int, bool], object] = _nobody_listens
        """Told, before anybody is answered from it, of each head that is about to be one; as `on_head`."""
        self.on_move: Callable[[], None] = _nothing
        """Told that the head is about to be another one."""
        self.on_head: Callable[[int, bool], None] = _nobody_listens
        """Told of each head when it is one: its height, and whether the memory began again there."""

    def __len__(self) -> int:
        return len(self._by_number)

    def by_number(self, number: int) -> AcceptedBlock | None:
        """Return a remembered block."""
        return self._by_number.get(number)

    def by_hash(self, block_hash: Hash) -> AcceptedBlock | None:
        """Return a remembered block."""
        return self._by_hash.get(block_hash)

    def place_of(self, transaction_hash: Hash) -> tuple[AcceptedBlock, int] | None:
        """Return the remembered block that holds a transaction, and its index there."""
        return self._places.get(transaction_hash)

    def remember_read(self, block: AcceptedBlock, version: int) -> None:
        """Keep a block that was read when the version was this one, unless the memory began again since."""
        with self._lock:
            if self.version == version:
                self._keep(block)

    def follow(self, block: AcceptedBlock) -> None:
        """Keep the block after the head, which is the head then."""
        with self._lock:
            self._keep(block)
        self.before_move(block.number, False)
        self.on_move()
        self.head = block
        self.on_head(block.number, False)

    def reset(self, head: AcceptedBlock) -> None:
        """Forget all blocks and begin again at a head."""
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
        """Keep a block, and forget another one when there are too many.

        Half of the room is for the blocks right below the head: who reads old ones, a thousand at
        a time, does not push them out.
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
        """Return the number of the block that was kept first of those far below the head."""
        recent = max(self._by_number) - self._most // 2
        return next(number for number in self._by_number if number <= recent)

    def _forget(self, number: int) -> None:
        block = self._by_number.pop(number)
        del self._by_hash[block.hash]
        for transaction in block.transactions:
            self._places.pop(transaction.hash, None)


class TransactionMemory:
    """Transactions that came in through this process and were in no block yet when it looked."""

    def __init__(self, *, transactions: int) -> None:
        self._lock = threading.Lock()
        self._most = transactions
        self._by_hash: dict[Hash, Transaction] = {}
        self.asked = Asked()

    def __len__(self) -> int:
        return len(self._by_hash)

    def __contains__(self, transaction_hash: Hash) -> bool:
        return transaction_hash in self._by_hash

    def get(self, transaction_hash: Hash) -> Transaction | None:
        """Return a remembered transaction; whoever gets none decodes it."""
        found = self._by_hash.get(transaction_hash)
        if found is None:
            self.asked.miss()
        else:
            self.asked.hit()
        return found

    def remember(self, transactions: Iterable[Transaction]) -> None:
        """Keep transactions, and forget those that were kept first when there are too many."""
        with self._lock:
            self._by_hash.update((transaction.hash, transaction) for transaction in transactions)
            shrink(self._by_hash, self._most)

    def forget(self, transactions: Iterable[Transaction]) -> None:
        """Drop transactions that are in a block now, or were not taken into the pool."""
        with self._lock:
            for transaction in transactions:
                self._by_hash.pop(transaction.hash, None)

    def reset(self) -> None:
        """Forget all."""
        with self._lock:
            self._by_hash.clear()


class PoolMemory:
    """Pending nonces, for as long as neither the pool nor the head has changed.

    Only for the embedded profile: there all changes of the pool happen in one process, which this one is, or which
    counts them for it.
    """

    def __init__(self, *, senders: int) -> None:
        self._lock = threading.Lock()
        self._most = senders
        self._changes = 0
        self._nonces: dict[Address, tuple[tuple[int, int | None], int]] = {}
        self.asked = Asked()
        self.on_change: Callable[[], None] = _nothing
        """Told that the pool is another one; after the commit."""
        self.changed_elsewhere: Callable[[], int] = _never
        """Returns how often another process has changed it."""
        self.entries: Mapping[PoolKey, PoolEntry] = {}
        """The pool's rows as they were last read: one of a key and a hash never changes."""

    def __len__(self) -> int:
        return len(self._nonces)

    def tag(self, state: StateMemory) -> tuple[int, int | None]:
        """Return what a nonce must be read and remembered with: taken before it is read."""
        return self.changes, state.number

    @property
    def changes(self) -> int:
        """How often the pool has changed."""
        return self._changes + self.changed_elsewhere()

    def changed(self) -> None:
        """Note that the pool is another one: to be called after each commit that changed it."""
        self._changes += 1
        self.on_change()

    def reset(self) -> None:
        """Forget all."""
        self.changed()
        self.entries = {}

    def nonce(self, address: Address, tag: tuple[int, int | None]) -> int | None:
        """Return the remembered pending nonce, if nothing has changed since."""
        kept = self._nonces.get(address)
        if kept is None or kept[0] != tag:
            return None
        self.asked.hit()
        return kept[1]

    def remember_nonce(self, address: Address, nonce: int, tag: tuple[int, int | None]) -> None:
        """Keep a pending nonce that was read after the tag was taken."""
        self.asked.miss()
        if tag[1] is None:
            return  # the head was moving
        with self._lock:
            self._nonces[address] = (tag, nonce)
            shrink(self._nonces, self._most)


class CountsMemory:
    """How many transactions can run and how many are queued, for as long as head and pool are the same.

    Counting takes a look at every one of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[PoolTag, tuple[int, int]] | None = None
        self._resets = 0

    def of(self, tag: PoolTag, count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """Return what was counted, counting only where the tag is another one."""
        known, resets = self._known, self._resets
        if known is not None and known[0] == tag:
            return known[1]
        counted = count() if tag.transactions else (0, 0)
        with self._lock:
            if self._resets == resets:  # else a chain that went back may have that tag again
                self._known = (tag, counted)
        return counted

    def reset(self) -> None:
        """Forget what was counted, also what is being counted now."""
        with self._lock:
            self._known = None
            self._resets += 1


class ConditionsMemory:
    """What was set for the blocks to come, as it was last read. Only of a development chain."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Conditions | None = None
        self._changes = 0
        self.on_reset: Callable[[], None] = _nothing
        """Told when they may be others."""

    def of(self, read: Callable[[], Conditions]) -> Conditions:
        """Return what was set; where it is not known, as it is read now."""
        known, changes = self._known, self._changes
        if known is not None:
            return known
        found = read()
        with self._lock:
            if self._changes == changes:  # else it may have been read before the change
                self._known = found
        return found

    def see(self, read: Callable[[], Conditions]) -> None:
        """Take what is read now for what was set: another process may have set it, and its word be on the way.

        What was asked ahead may be older than what is known. Whoever makes a block compares under the chain's lock.
        """
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
        """Forget it, also what is being read now: to be called after each commit that changed it."""
        with self._lock:
            self._known = None
            self._changes += 1
        self.on_reset()


class Memory:
    """All that a process remembers of one chain.

    Args:
        state: The accounts and slots of its head, and code.
        accounts: For so many of them the pending nonce is remembered.
        blocks: So many are remembered.
        answers: What the native engine answers by itself about the head, if it does.
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
        self.conditions = ConditionsMemory()
        self.moving = threading.Lock()
        """Held by whoever moves the head."""
        self._changes_seen: tuple[Hash, Sequence[Change]] | None = None
        """The last head on which it was looked what was changed by hand, with what was."""
        self.generation: int | None = None
        """How often the rows had gone back (`chaindb.generation`) when it was last in line with them."""
        self.on_change: Callable[[], object] = _nothing
        """Told that this process has changed by hand what others may remember; after the commit."""
        self.until_told: Callable[[int], None] = _at_once
        """Waits until whoever writes the rows has told of a head at this height or above; in threads."""
        if answers is not None:
            self.blocks.on_move = answers.begin_move
            self.blocks.on_head = answers.set_head
            self.conditions.on_reset = answers.end_epoch

    def changed_elsewhere(self, number: int) -> None:
        """Read anew what may have been changed by hand in another process, at this height."""
        with self.moving:
            self.conditions.reset()
            self._read_state_anew(number)
        self.pool.changed()
        self.counts.reset()

    def see_changes(self, head: AcceptedBlock, changes: Sequence[Change]) -> None:
        """Have the state read anew where other processes have changed it by hand, or have undone that.

        Args:
            head: On which they were made.
            changes: As the rows have them now.
        """
        with self.moving:
            before, self._changes_seen = self._changes_seen, (head.hash, changes)
            seen = before[1] if before is not None and before[0] == head.hash else ()
            if list(seen) != list(changes):
                self._read_state_anew(head.number)

    def _read_state_anew(self, number: int) -> None:
        """Forget the state that may have been changed by hand at a height."""
        # Or above: the block after may have been followed before the word of it came.
        if self.state.number is not None and self.state.number >= number:
            self.state.reset(self.state.number)

    def kept(self) -> dict[str, Kept]:
        """Return what is kept of each kind, for monitoring."""
        return {
            **self.state.kept(),
            "blocks": Kept.of(len(self.blocks), self.blocks.asked),
            "transactions": Kept.of(len(self.transactions), self.transactions.asked),
            "pending_nonces": Kept.of(len(self.pool), self.pool.asked),
        }

    def rules_changed(self) -> None:
        """Forget answers that depend on the chain's rules, which have changed."""
        if self.answers is not None:
            self.answers.end_epoch()

    def follow(self, block: AcceptedBlock) -> None:
        """Take the block after the head as the head. State moves on its own."""
        self.blocks.follow(block)
        # Last: until here a reader that finds it in no block finds it waiting.
        self.transactions.forget(block.transactions)

    def begin_at(self, head: AcceptedBlock) -> None:
        """Forget everything and begin at a head."""
        self.state.reset(head.number)
        self.blocks.reset(head)
        self.transactions.reset()
        self.conditions.reset()
        self.pool.reset()
        self.counts.reset()

    def advance(self, block: AcceptedBlock, changes: StateChanges) -> None:
        """Take a block that this process has just committed on the head that it remembers."""
        with self.moving:
            head = self.blocks.head
            if head is None or block.header.parent_hash != head.hash:
                return  # another process was faster: `catch_up` finds this block too
            self.state.advance(block.number, changes)
            self.follow(block)
