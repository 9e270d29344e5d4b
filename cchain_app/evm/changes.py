"""Two changes of the state, one after the other, as one; and changes of a state whose trie is known in part. Pure."""

from collections.abc import Callable
from dataclasses import replace

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from primitives.evm import Address


def merged(first: StateChanges, second: StateChanges) -> StateChanges:
    """Return what both did together; what the second took back is no change any more.

    What was in the storage of an account before it was cleared neither may say: a slot of such an account
    that the second writes has zero before, and who stores it asks the rows.
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
    """Return changes that name each account whose storage they change, as a trie needs that may not have it yet.

    Args:
        changes: Of a part of a block, or all of it.
        account: Says what an account is that they do not name.
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
    """Return the accounts and slots of changes as keys: an address, or an address and a slot behind it."""
    return (*changes.accounts, *(address + slot for address, slot in changes.storage))
