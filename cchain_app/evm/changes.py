"""Combine consecutive state changes into one, and prepare changes for a trie that is only partly known. Pure."""

from collections.abc import Callable
from dataclasses import replace

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from primitives.evm import Address


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
