"""State after blocks that were executed and are not stored yet, and combining their changes. Pure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    SlotChange,
    StateChanges,
    StateReader,
)
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

MAX_LEVELS: Final = 8
"""Maximum number of stacked states: each adds one lookup to every read."""


class PendingState:
    """A `StateReader` that overlays the changes of blocks on another state."""

    def __init__(self, below: StateReader) -> None:
        self.below = below
        self._accounts: dict[Address, AccountState | None] = {}
        self._slots: dict[tuple[Address, Slot], Word] = {}
        self._codes: dict[Hash, bytes] = {}
        self._cleared: set[Address] = set()
        self._hashes: dict[int, Hash] = {}

    def apply(self, number: int, block_hash: Hash, changes: StateChanges) -> None:
        """Add the changes of the next block."""
        self._hashes[number] = block_hash
        self.put(changes)

    def put(self, changes: StateChanges) -> None:
        """Add the changes of a part of a block: a transaction or a system call."""
        # A deleted account loses its storage: overrides give storage even to accounts without code.
        gone = {address for address, change in changes.accounts.items() if change.after is None}
        cleared = changes.cleared | gone
        if cleared:
            self._cleared |= cleared
            for key in [key for key in self._slots if key[0] in cleared]:
                del self._slots[key]
        for address, account in changes.accounts.items():
            self._accounts[address] = account.after
        for key, slot in changes.storage.items():
            self._slots[key] = slot.after
        self._codes.update(changes.codes)

    def changes(self) -> StateChanges:
        """Return all changes in this overlay as one difference from the state below."""
        below = self.below
        accounts = {
            address: AccountChange(before, after)
            for address, after in self._accounts.items()
            if (before := below.account(address)) != after
        }
        cleared = frozenset(filter(self._had_storage, self._cleared))
        storage = {}
        for key, word in self._slots.items():
            old = below.storage(*key)
            if word != (ZERO_WORD if key[0] in cleared else old):
                storage[key] = SlotChange(old, word)
        return StateChanges(accounts, storage, dict(self._codes), cleared)

    def _had_storage(self, address: Address) -> bool:
        """Return whether the account may have had storage in the state below, as `StateChanges.cleared` means it."""
        before = self.below.account(address)
        return before is not None and (
            before.code_hash != EMPTY_HASH or self.account(address) is not None
        )

    def accounts(self) -> dict[Address, AccountState | None]:
        """Return the accounts in this overlay; None for deleted ones."""
        return dict(self._accounts)

    def slots_of(self, address: Address) -> dict[Slot, Word]:
        """Return an account's slots in this overlay, including those that are now zero."""
        return {slot: word for (owner, slot), word in self._slots.items() if owner == address}

    def is_cleared(self, address: Address) -> bool:
        """Return whether an account's storage in the state below is hidden."""
        return address in self._cleared

    @property
    def levels(self) -> int:
        """The number of stacked states, this one included."""
        return 1 + (self.below.levels if isinstance(self.below, PendingState) else 0)

    def flattened(self) -> "PendingState":
        """Return an equal state that lies directly on the state below all levels."""
        if isinstance(self.below, PendingState):
            found = self.below.flattened()
        else:
            found = PendingState(self.below)
        found._cleared |= self._cleared
        for key in [key for key in found._slots if key[0] in self._cleared]:
            del found._slots[key]
        found._accounts.update(self._accounts)
        found._slots.update(self._slots)
        found._codes.update(self._codes)
        found._hashes.update(self._hashes)
        return found

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None if it does not exist."""
        if address in self._accounts:
            return self._accounts[address]
        return self.below.account(address)

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the value of a slot."""
        found = self._slots.get((address, slot))
        if found is not None:
            return found
        if address in self._cleared:
            return ZERO_WORD
        return self.below.storage(address, slot)

    def has_storage(self, address: Address) -> bool:
        """Return whether any slot of an account without code is not zero: only code clears slots."""
        if any(key[0] == address and word != ZERO_WORD for key, word in self._slots.items()):
            return True
        return address not in self._cleared and self.below.has_storage(address)

    def code(self, code_hash: Hash) -> bytes:
        """Return the code with this hash."""
        code = self._codes.get(code_hash)
        return self.below.code(code_hash) if code is None else code

    def block_hash(self, number: int) -> Hash:
        """Return the hash of a block before this one."""
        return self._hashes.get(number) or self.below.block_hash(number)


def state_after(
    below: StateReader, number: int, block_hash: Hash, changes: StateChanges
) -> PendingState:
    """Return the state after a block that was executed on another state, which is not changed."""
    deep = isinstance(below, PendingState) and below.levels >= MAX_LEVELS
    after = below.flattened() if isinstance(below, PendingState) and deep else PendingState(below)
    after.apply(number, block_hash, changes)
    return after


def merged(first: StateChanges, second: StateChanges) -> StateChanges:
    """Return both changes as one; values that the second restores are left out.

    Neither change knows the storage of an account before it was cleared. If the second change writes a slot
    of such an account, its value before is given as zero, and the store reads the stored value instead.
    """
    accounts = dict(first.accounts)
    for address, change in second.accounts.items():
        before = accounts[address].before if address in accounts else change.before
        accounts[address] = AccountChange(before, change.after)
    storage = {key: one for key, one in first.storage.items() if key[0] not in second.cleared}
    for key, slot in second.storage.items():
        known = first.storage.get(key)
        storage[key] = SlotChange(slot.before if known is None else known.before, slot.after)
    cleared = first.cleared | second.cleared
    return StateChanges(
        accounts={key: one for key, one in accounts.items() if one.before != one.after},
        storage={
            key: one for key, one in storage.items() if key[0] in cleared or one.before != one.after
        },
        codes={**first.codes, **second.codes},
        cleared=cleared,
    )


def with_owners(
    changes: StateChanges, account: Callable[[Address], AccountState | None]
) -> StateChanges:
    """Return the changes with an entry for each account whose storage they change, for a trie that may lack it.

    Args:
        changes: The changes of a block or of a part of it.
        account: Returns the state of an account that the changes do not contain.
    """
    owners = {address for address, _ in changes.storage} | changes.cleared
    unnamed = [address for address in owners if address not in changes.accounts]
    if not unnamed:
        return changes
    named = dict(changes.accounts)
    for address in unnamed:
        state = account(address)
        named[address] = AccountChange(state, state)
    return replace(changes, accounts=named)


def leaves_of(changes: StateChanges) -> tuple[bytes, ...]:
    """Return the accounts and slots of changes as keys: an address, or an address followed by a slot."""
    return (*changes.accounts, *(address + slot for address, slot in changes.storage))
