"""Two changes of the state, one after the other, as one. Pure."""

from cchain_app.evm.engine import AccountChange, SlotChange, StateChanges


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
