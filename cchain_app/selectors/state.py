"""State at a height: from memory at the head, and from rows elsewhere."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from typing_extensions import override

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import AccountState, NativeMemory, StateReader
from cchain_app.memory import MISSING, Missing
from cchain_app.selectors import blocks, forked
from cchain_app.store import chain as stored
from cchain_app.store import evm_state
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

T = TypeVar("T")

RECENT_BLOCKS: Final = 128
"""Blocks below the head whose state is not read from replicas: most of it is in this process's memory."""

_MAX_AHEAD: Final = 256
"""Maximum number of slots that are read in one statement for a call that reads consecutive slots."""

_SLOTS: Final = 1 << 256
"""Number of slots of an account."""


class StateAt:
    """State after one block, in the form that engines read (a `StateReader`)."""

    __slots__ = (
        "_ahead",
        "_blocks",
        "_chain",
        "_db",
        "_end",
        "_last",
        "_number",
        "_state",
    )

    def __init__(self, chain: EvmChain, number: int) -> None:
        self._chain = chain
        self._db = chain.db
        self._number = number
        self._state = chain.memory.state
        self._blocks = chain.memory.blocks
        self._last: Address | None = None
        """The account whose slots were read last."""
        self._end = 0
        """The number of the slot after them."""
        self._ahead = 1
        """Number of slots that were read together; 0 if slots are not cached, which makes reading ahead useless."""

    @property
    def memory(self) -> NativeMemory | None:
        """The memory that the native engine may read directly, as of this height; no account is watched."""
        native = self._state.native
        return None if native is None else (native, self._number, None)

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None if it does not exist."""
        found = self._state.account(address, self._number)
        if isinstance(found, Missing):
            version = self._state.version_at(self._number)
            found = evm_state.account_at(self._db, address, self._number)
            if found is None and (fork := self._chain.fork) is not None:
                found = forked.account(self._chain, fork, address)
                if found is not None:  # it may have been changed while it was fetched
                    found = evm_state.account_at(self._db, address, self._number)
            self._state.remember_accounts([(address, found)], version)
        return found

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the value of a slot."""
        found = self._state.slot(address, slot, self._number)
        if isinstance(found, Missing):
            found = self._after_reading_ahead(address, slot)
        if isinstance(found, Missing):
            version = self._state.version_at(self._number)
            found = evm_state.slot_at(self._db, address, slot, self._number)
            if found == ZERO_WORD and (fork := self._chain.fork) is not None:
                found = forked.slot(self._chain, fork, address, slot)
                if found != ZERO_WORD:  # as in `account`
                    found = evm_state.slot_at(self._db, address, slot, self._number)
            self._state.remember_slot(address, slot, found, version)
        return found

    def _after_reading_ahead(self, address: Address, slot: Slot) -> Word | Missing:
        """Read a slot and some following ones, if it follows the slot that was read last; else do nothing.

        Calls read the elements of an array like that, one by one, which would take a statement for each. At most four
        times as many slots are read as are needed.
        """
        number = int.from_bytes(slot, "big")
        if self._last == address and self._end - self._ahead <= number < self._end:
            self._ahead = 0  # the slot was read ahead, but was not cached
        follows = self._last == address and self._end == number
        if not self._ahead or not follows or self._state.version_at(self._number) is None:
            self._last, self._end = address, number + 1
            self._ahead = min(self._ahead, 1)
            return MISSING
        self._ahead = min(4 * self._ahead, _MAX_AHEAD, _SLOTS - number)
        self._end = number + self._ahead
        slots = [Slot(index.to_bytes(32, "big")) for index in range(number, self._end)]
        return prefetch_slots(self._chain, address, slots, self._number).get(slot, MISSING)

    def has_storage(self, address: Address) -> bool:
        """Return whether any slot of the account is not zero."""
        return evm_state.has_storage_at(self._db, address, self._number)

    def code(self, code_hash: Hash) -> bytes:
        """Return the code with this hash."""
        if code_hash == EMPTY_HASH:
            return b""
        found = self._state.code(code_hash)
        if found is None:
            found = evm_state.code(self._db, code_hash)
            self._state.remember_code(code_hash, found)
        return found

    def block_hash(self, number: int) -> Hash:
        """Return the hash of a block before this one."""
        found = self._blocks.by_number(number)
        if found is None and (fork := self._chain.fork) is not None and number < fork.number:
            return forked.block_hash(self._chain, number)
        return evm_state.block_hash(self._db, number) if found is None else found.hash


class StateBefore(StateAt):
    """State before a block that is executed again. The values that the block changed are read in one query.

    A block changes most of the values that it reads.
    """

    __slots__ = ("_accounts", "_slots")

    def __init__(self, chain: EvmChain, number: int, changed: evm_state.Values) -> None:
        super().__init__(chain, number - 1)
        self._accounts, self._slots = changed

    @property
    @override
    def memory(self) -> None:
        """None, because the values that the block changed are not in the memory."""

    @override
    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None if it does not exist."""
        if address in self._accounts:
            return self._accounts[address]
        return super().account(address)

    @override
    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the value of a slot."""
        found = self._slots.get((address, slot))
        return super().storage(address, slot) if found is None else found


def read_at(chain: EvmChain, number: int, read: Callable[[], T]) -> T:
    """Run a read of the state at a height; it may be on a replica if the height is `RECENT_BLOCKS` below the head."""
    if number + RECENT_BLOCKS > blocks.head(chain).number:
        return read()
    return chain.db.on_replica(read)


def state_at(chain: EvmChain, number: int) -> StateAt:
    """Return the state after block `number`, which must not be above the head."""
    return StateAt(chain, number)


def state_after(chain: EvmChain, block: AcceptedBlock) -> StateReader:
    """Return the state after an accepted block or the pending one."""
    if isinstance(block, PendingBlock):
        return block.state
    return state_at(chain, block.number)


def state_before_block(chain: EvmChain, number: int) -> StateBefore:
    """Return the state before block `number`, an accepted one or the pending one, for executing it again."""
    return states_before_blocks(chain, number, number)[0]


def states_before_blocks(chain: EvmChain, first: int, last: int) -> list[StateBefore]:
    """Return the states before the blocks from height `first` to `last`, in as many statements as for one."""
    changed = evm_state.before_blocks(chain.db, first, last)
    return [StateBefore(chain, number, values) for number, values in changed.items()]


def code_of_hash(chain: EvmChain, code_hash: Hash) -> bytes:
    """Return the code with a hash; empty if no account has or had it."""
    return chain.memory.state.code(code_hash) or evm_state.code(chain.db, code_hash)


def code_at(state: StateReader, address: Address) -> bytes:
    """Return the code of an account, empty if it has none."""
    account = state.account(address)
    return b"" if account is None else state.code(account.code_hash)


def prefetch_accounts(chain: EvmChain, addresses: Sequence[Address], number: int) -> None:
    """Load accounts into memory in one statement, if `number` is the head."""
    state = chain.memory.state
    version = state.version_at(number)
    wanted = {a for a in addresses if isinstance(state.account(a, number), Missing)}
    if not wanted or blocks.head(chain).number != number:
        return
    accounts = evm_state.accounts_now(chain.db, wanted)
    if (fork := chain.fork) is not None and len(accounts) < len(wanted):
        forked.accounts(chain, fork, [address for address in wanted if address not in accounts])
        accounts = evm_state.accounts_now(chain.db, wanted)
    # The rows are those of the database's head; if that has changed, the memory must follow first.
    if stored.head_number(chain.db) == number:
        state.remember_accounts([(address, accounts.get(address)) for address in wanted], version)


def prefetch(
    chain: EvmChain,
    accounts: Iterable[Address],
    slots: Iterable[tuple[Address, Slot]],
    number: int,
) -> None:
    """Load accounts and slots into memory, if `number` is the head; slots are not loaded on a fork.

    One statement reads all accounts and one all slots; each is followed by a check of the head.
    """
    prefetch_accounts(chain, list(accounts), number)
    _prefetch_places(chain, list(slots), number)


def prefetch_slots(
    chain: EvmChain, address: Address, slots: Sequence[Slot], number: int
) -> dict[Slot, Word]:
    """Load slots of an account into memory in one statement, if `number` is the head and the chain is not a fork.

    Return the slots that had to be read.
    """
    read = _prefetch_places(chain, [(address, item) for item in slots], number)
    return {slot: value for (_, slot), value in read.items()}


def _prefetch_places(
    chain: EvmChain, places: Sequence[tuple[Address, Slot]], number: int
) -> dict[tuple[Address, Slot], Word]:
    """Load slots of any accounts, as `prefetch_slots`."""
    places = [(address, chain.stored_slot(slot)) for address, slot in places]
    state = chain.memory.state
    version = state.version_at(number)
    wanted = [place for place in places if isinstance(state.slot(*place, number), Missing)]
    if not wanted or chain.fork is not None or blocks.head(chain).number != number:
        return {}
    found = evm_state.slots_now(chain.db, [address + slot for address, slot in wanted])
    # As in `prefetch_accounts`.
    if stored.head_number(chain.db) != number:
        return {}
    read = {(address, slot): found[address + slot] for address, slot in wanted}
    for (address, slot), value in read.items():
        state.remember_slot(address, slot, value, version)
    return read


def stored_code_hashes(chain: EvmChain, addresses: Iterable[Address]) -> dict[Address, Hash]:
    """Return the code hashes of accounts at the head that have code, in one statement for hundreds of addresses.

    On a fork, accounts that were never fetched are omitted.
    """
    accounts = evm_state.accounts_now(chain.db, addresses)
    return {
        address: account.code_hash
        for address, account in accounts.items()
        if account.code_hash != EMPTY_HASH
    }


def stored_slots(
    chain: EvmChain, places: Iterable[tuple[Address, Slot]]
) -> dict[tuple[Address, Slot], Word]:
    """Return values of slots at the head, in one statement for hundreds; on a fork zero if they were never fetched."""
    keys = {(address, slot): address + chain.stored_slot(slot) for address, slot in places}
    values = evm_state.slots_now(chain.db, keys.values())
    return {place: values[key] for place, key in keys.items()}


def prefetch_codes(chain: EvmChain, hashes: Iterable[Hash]) -> None:
    """Load codes into memory in one statement."""
    state = chain.memory.state
    wanted = {code_hash for code_hash in hashes if state.code(code_hash) is None}
    if wanted:
        for code_hash, code in evm_state.codes(chain.db, wanted).items():
            state.remember_code(code_hash, code)
