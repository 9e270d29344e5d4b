"""What a process remembers of the chain: the head, recent blocks, accounts, slots and code.

All of it is bounded. State is remembered as of the head only. Whoever moves the head first unsets
`StateMemory.number`; a reader checks it before and after it takes a value, so that no reader ever mixes
two heights, and needs no lock. What was read from rows is kept only while the memory is what it was before
they were read, by its version: a development chain goes back, and then its heights come again.
The writer of a block advances the memory of its own process with what it knows (`advance`); other processes
are told by a pointer and forget what changed (`selectors.blocks.catch_up`).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.development.conditions import Conditions
from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.pool.entry import PoolEntry
from cchain_app.txs.transaction import Transaction
from primitives.counting import Asked
from primitives.evm import Address, Hash, Slot, Word

FEW = 64
"""So many missed blocks are read one by one; after more, the memory begins anew."""

CODE_BYTES = 64 * 1024 * 1024
"""Code kept in memory, in bytes; code of a hash never changes."""


POOL_TRANSACTIONS = 8192
"""Decoded transactions kept in memory: a full pool of the default size, and some more."""


class Missing:
    """Type of `MISSING`: not remembered, as distinct from remembered to be absent."""


MISSING = Missing()


PoolKey = tuple[int, bytes]
"""Key of a row of the pool, and the hash of its transaction."""


class PoolTag(NamedTuple):
    """What tells a pool on a head from others."""

    height: int
    """Of the head."""
    transactions: int
    newest: int | None
    """The key of the last row."""


class Kept(NamedTuple):
    """One kind of what is remembered, for monitoring."""

    entries: int
    asked: Asked


class StateMemory:
    """Accounts and slots as of one height, and code."""

    def __init__(self, *, accounts: int, slots: int) -> None:
        self.number: int | None = None
        """The height that the values belong to; None while they are being changed."""
        self._version = 0
        """How often they were changed."""
        self._lock = threading.Lock()
        self._accounts: dict[Address, AccountState | None] = {}
        self._slots: dict[tuple[Address, Slot], Word] = {}
        self._codes: OrderedDict[Hash, bytes] = OrderedDict()
        self._code_bytes = 0
        self._most_accounts = accounts
        self._most_slots = slots
        # Only questions about the remembered height count: others this memory does not try to answer.
        self._asked_accounts = Asked()
        self._asked_slots = Asked()
        self._asked_codes = Asked()

    def version_at(self, number: int) -> int | None:
        """Return with what values of this height are remembered, to be asked for before they are read.

        None: they are not remembered, since the memory is at another height.
        """
        version = self._version
        return version if self.number == number else None

    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return what is remembered of an account at this height."""
        if self.number != number:
            return MISSING
        found = self._accounts.get(address, MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_accounts.hit()
        return found

    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return what is remembered of a slot at this height."""
        if self.number != number:
            return MISSING
        found = self._slots.get((address, slot), MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_slots.hit()
        return found

    def code(self, code_hash: Hash) -> bytes | None:
        """Return code that is remembered, else None."""
        found = self._codes.get(code_hash)
        if found is not None:
            self._asked_codes.hit()
        return found

    def kept(self) -> dict[str, Kept]:
        """Return what is kept of each kind."""
        return {
            "accounts": Kept(len(self._accounts), self._asked_accounts),
            "slots": Kept(len(self._slots), self._asked_slots),
            "codes": Kept(len(self._codes), self._asked_codes),
        }

    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` gave the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                for address, value in values:
                    self._accounts[address] = value
                    self._asked_accounts.miss()
                _shrink(self._accounts, self._most_accounts)

    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` gave the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                self._slots[address, slot] = value
                self._asked_slots.miss()
                _shrink(self._slots, self._most_slots)

    def remember_code(self, code_hash: Hash, code: bytes) -> None:
        """Keep code that was read, and forget the oldest when there is too much."""
        self._asked_codes.miss()
        self._keep_code(code_hash, code)

    def _keep_code(self, code_hash: Hash, code: bytes) -> None:
        with self._lock:
            if code_hash in self._codes:
                return
            self._codes[code_hash] = code
            self._code_bytes += len(code)
            while self._code_bytes > CODE_BYTES:
                _, oldest = self._codes.popitem(last=False)
                self._code_bytes -= len(oldest)

    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by what its block changed."""
        with self._lock:
            self._begin_change()
            if changes.cleared:
                self._forget_slots(changes.cleared)
            for address, account in changes.accounts.items():
                self._accounts[address] = account.after
            for key, slot in changes.storage.items():
                self._slots[key] = slot.after
            _shrink(self._accounts, self._most_accounts)
            _shrink(self._slots, self._most_slots)
            self.number = number
        for code_hash, code in changes.codes.items():
            self._keep_code(code_hash, code)

    def change(self, number: int, changes: StateChanges) -> None:
        """Take changes that were made on this height itself, by hand."""
        if self.number == number:
            self.advance(number, changes)

    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget what changed on the way."""
        with self._lock:
            self._begin_change()
            for address in accounts:
                self._accounts.pop(address, None)
            for key in slots:
                self._slots.pop(key, None)
            self.number = number

    def reset(self, number: int) -> None:
        """Move to a height of which nothing is known."""
        with self._lock:
            self._begin_change()
            self._accounts.clear()
            self._slots.clear()
            self.number = number

    def _begin_change(self) -> None:
        self.number = None
        self._version += 1

    def _forget_slots(self, addresses: Set[Address]) -> None:
        for key in [key for key in self._slots if key[0] in addresses]:
            del self._slots[key]


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
        self.head = block

    def reset(self, head: AcceptedBlock) -> None:
        """Forget all blocks and begin again at a head."""
        with self._lock:
            self.version += 1
            self._by_number.clear()
            self._by_hash.clear()
            self._places.clear()
            self._keep(head)
        self.head = head

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
            _shrink(self._by_hash, self._most)

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

    Only for the embedded profile: there all changes of the pool happen in this one process.
    """

    def __init__(self, *, senders: int) -> None:
        self._lock = threading.Lock()
        self._most = senders
        self._changes = 0
        self._nonces: dict[Address, tuple[tuple[int, int | None], int]] = {}
        self.asked = Asked()
        self.entries: Mapping[PoolKey, PoolEntry] = {}
        """The pool's rows as they were last read: one of a key and a hash never changes."""

    def __len__(self) -> int:
        return len(self._nonces)

    def tag(self, state: StateMemory) -> tuple[int, int | None]:
        """Return what a nonce must be read and remembered with: taken before it is read."""
        return self._changes, state.number

    def changed(self) -> None:
        """Note that the pool is another one: to be called after each commit that changed it."""
        self._changes += 1

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
            _shrink(self._nonces, self._most)


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


class Memory:
    """All that a process remembers of one chain."""

    def __init__(self, *, accounts: int, slots: int, blocks: int) -> None:
        self.state = StateMemory(accounts=accounts, slots=slots)
        self.blocks = BlockMemory(blocks=blocks)
        self.pool = PoolMemory(senders=accounts)
        self.transactions = TransactionMemory(transactions=POOL_TRANSACTIONS)
        self.counts = CountsMemory()
        self.conditions: Conditions | None = None
        """What was set for the blocks to come; None: it is to be read. Only of a development chain."""
        self.moving = threading.Lock()
        """Held by whoever moves the head."""
        self.generation: int | None = None
        """How often the rows had gone back (`chaindb.generation`) when it was last in line with them."""

    def changed_elsewhere(self, number: int) -> None:
        """Read anew what may have been changed by hand in another process, at this height."""
        with self.moving:
            self.conditions = None
            if self.state.number == number:
                self.state.reset(number)
        self.pool.changed()

    def set_conditions(self, found: Conditions) -> None:
        """Keep what was just written for the blocks to come."""
        with self.moving:
            self.conditions = found

    def remember_conditions(self, found: Conditions) -> Conditions:
        """Keep what was read, unless something was written since; return what holds."""
        with self.moving:
            if self.conditions is None:
                self.conditions = found
            return self.conditions

    def kept(self) -> dict[str, Kept]:
        """Return what is kept of each kind, for monitoring."""
        return {
            **self.state.kept(),
            "blocks": Kept(len(self.blocks), self.blocks.asked),
            "transactions": Kept(len(self.transactions), self.transactions.asked),
            "pending_nonces": Kept(len(self.pool), self.pool.asked),
        }

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
        self.conditions = None
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


def _shrink(values: dict[Any, Any], most: int) -> None:
    """Forget what was kept first."""
    while len(values) > most:
        del values[next(iter(values))]
