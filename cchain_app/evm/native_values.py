"""Convert values of the crate `native/` to the port's: accounts, logs, state changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cchain_app.evm.engine import AccountChange, AccountState, Log, SlotChange, StateChanges
from primitives.evm import Address, Hash, Slot, Word

if TYPE_CHECKING:
    import cchain_native


def logs_of(values: list[cchain_native.LogValues]) -> tuple[Log, ...]:
    """Return logs from the crate's values."""
    return tuple(map(Log._make, values))


def account_state(values: cchain_native.Account | None) -> AccountState | None:
    """Return an account from the crate's values; None if it does not exist."""
    if values is None:
        return None
    nonce, balance, code_hash = values
    return AccountState(nonce, balance, Hash(code_hash))


def changes_of(values: cchain_native.Changes) -> StateChanges:
    """Return state changes from the crate's values."""
    accounts, storage, codes, cleared = values
    return StateChanges(
        accounts={
            Address(address): AccountChange(account_state(before), account_state(after))
            for address, (before, after) in accounts.items()
        },
        storage={
            (Address(address), Slot(slot)): SlotChange(Word(before), Word(after))
            for (address, slot), (before, after) in storage.items()
        },
        codes={Hash(code_hash): code for code_hash, code in codes.items()},
        cleared=frozenset(map(Address, cleared)),
    )
