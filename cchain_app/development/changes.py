"""Manual changes of the state (setBalance and similar), as seen by the block that follows them. Pure.

The rules are devnet.md 10: a block consists of development changes, system calls and transactions, in this order,
and its state root covers all three. The state at a height is the state after its block and after the changes made
on that block.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

BALANCE: Final = 0
NONCE: Final = 1
CODE: Final = 2
STORAGE: Final = 3
"""The kinds of changes, with the values of `models.ChangeKind`."""

NOBODY: Final = AccountState(nonce=0, balance=0, code_hash=EMPTY_HASH)


class StateEdit(NamedTuple):
    """A change of an account, or of one of its storage slots."""

    kind: int
    address: Address
    new: Word
    """The balance, nonce, code hash or slot value, as 32 bytes."""
    old: Word | None = None
    """The value before, in the same form; None: the account did not exist. For a slot it is never None."""
    slot: Slot | None = None
    wrote_history: bool = False
    """Whether the head's block itself had not changed this account or slot."""


class BeforeEdits(NamedTuple):
    """The accounts and slots before the changes."""

    accounts: dict[Address, AccountState | None]
    slots: dict[tuple[Address, Slot], Word]


def before(
    changes: Sequence[StateEdit], accounts: dict[Address, AccountState | None]
) -> BeforeEdits:
    """Return the values that the changed accounts and slots had before the first of these changes.

    Args:
        changes: The changes, in order.
        accounts: The changed accounts after the last change.
    """
    values = BeforeEdits({}, {})
    for change in reversed(changes):
        if change.kind == STORAGE:
            assert change.slot is not None
            values.slots[change.address, change.slot] = change.old or ZERO_WORD
            continue
        known = values.accounts.get(change.address, accounts.get(change.address))
        values.accounts[change.address] = _undone(known or NOBODY, change)
    return values


def _undone(account: AccountState, change: StateEdit) -> AccountState | None:
    if change.old is None:
        return None
    return with_value(account, change.kind, change.old)


def with_value(account: AccountState, kind: int, value: Word) -> AccountState:
    """Return an account with another balance, nonce or code hash, given as 32 bytes."""
    if kind == BALANCE:
        return account._replace(balance=int.from_bytes(value, "big"))
    if kind == NONCE:
        return account._replace(nonce=int.from_bytes(value, "big"))
    return account._replace(code_hash=Hash(value))


def value_of(account: AccountState, kind: int) -> Word:
    """Return an account's balance, nonce or code hash as 32 bytes."""
    if kind == BALANCE:
        return Word(account.balance.to_bytes(32, "big"))
    if kind == NONCE:
        return Word(account.nonce.to_bytes(32, "big"))
    return Word(account.code_hash)


def lower_a_nonce(changes: StateChanges) -> bool:
    """Return whether a change lowers an account's nonce, or deletes an account whose nonce is not 0."""
    return any(
        change.before is not None
        and change.before.nonce > (0 if change.after is None else change.after.nonce)
        for change in changes.accounts.values()
    )


def as_state_changes(
    was: BeforeEdits,
    accounts: dict[Address, AccountState | None],
    slots: dict[tuple[Address, Slot], Word],
) -> StateChanges:
    """Return the difference between the old and the current values of accounts and slots."""
    return StateChanges(
        accounts={
            address: AccountChange(old, accounts.get(address))
            for address, old in was.accounts.items()
            if old != accounts.get(address)
        },
        storage={
            key: SlotChange(old, slots.get(key, ZERO_WORD))
            for key, old in was.slots.items()
            if old != slots.get(key, ZERO_WORD)
        },
    )
