"""Writes the state: current values of accounts and slots, their history, and the nodes of the trie."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from cchain_app import models
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import TrieUpdate
from cchain_app.store import evm_state, trie_history
from chaindb.database import Database, Row
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

_ACCOUNT = ("address", "nonce", "balance", "code_hash")
_ACCOUNT_CHANGE = ("id", "address", "number", "nonce", "balance", "code_hash")
_SLOT = ("key", "value")
_SLOT_CHANGE = ("id", "key", "number", "value")

NO_CODE: Final = Hash(b"")
"""Stored in the history as the code hash of an account without code, because most accounts have no code."""

_SlotChanges = dict[tuple[Address, Slot], SlotChange]


def write_changes(db: Database, changes: Sequence[tuple[int, StateChanges]]) -> None:
    """Write the changes of blocks, by height. Block 0 starts the state, so it has no history."""
    for together in _apart(changes):
        _write(db, together)


def _apart(
    changes: Sequence[tuple[int, StateChanges]],
) -> Iterator[Sequence[tuple[int, StateChanges]]]:
    """Split blocks into groups whose changes can be written together.

    The slots of cleared accounts are read from the rows, so all earlier blocks must have been written.
    """
    starts = [
        position for position, (_, of_block) in enumerate(changes) if position and of_block.cleared
    ]
    for start, end in pairwise([0, *starts, len(changes)]):
        yield changes[start:end]


def _write(db: Database, changes: Sequence[tuple[int, StateChanges]]) -> None:
    """Write the changes of blocks of which only the first has cleared accounts."""
    accounts: dict[Address, AccountState | None] = {}
    slots: dict[tuple[Address, Slot], Word] = {}
    codes: dict[Hash, bytes] = {}
    past_accounts: list[Row] = []
    past_slots: list[Row] = []
    for number, of_block in changes:
        of_slots = _with_cleared(db, of_block)
        if number:
            past_accounts += _account_history(number, of_block.accounts)
            past_slots += _slot_history(number, of_slots)
        accounts.update((address, change.after) for address, change in of_block.accounts.items())
        slots.update((key, change.after) for key, change in of_slots.items())
        codes.update(of_block.codes)
    db.insert(models.AccountChange, _ACCOUNT_CHANGE, past_accounts)
    db.insert(models.StorageChange, _SLOT_CHANGE, past_slots)
    _write_codes(db, codes)
    _write_accounts(db, accounts)
    _write_slots(db, slots)


def write_now(db: Database, changes: StateChanges) -> None:
    """Write the current values of accounts and slots, without history."""
    _write_codes(db, changes.codes)
    _write_accounts(db, {address: change.after for address, change in changes.accounts.items()})
    _write_slots(db, {key: change.after for key, change in changes.storage.items()})


def write_history(
    db: Database, number: int, changes: StateChanges, *, first_account: int, first_slot: int
) -> None:
    """Write the values of accounts and slots before a block that already has history rows.

    Args:
        db: The chain's database.
        number: Height of the block.
        changes: Changes of accounts and slots without history for this block.
        first_account: Position of the first account row among the block's.
        first_slot: Position of the first slot row among the block's.
    """
    accounts = _account_history(number, changes.accounts, first_account)
    db.insert(models.AccountChange, _ACCOUNT_CHANGE, accounts)
    slots = _slot_history(number, dict(changes.storage), first_slot)
    db.insert(models.StorageChange, _SLOT_CHANGE, slots)


def write_nodes_with_history(
    db: Database, changes: Sequence[tuple[int, StateChanges]], tries: Sequence[TrieUpdate]
) -> None:
    """Write the nodes of consecutive blocks, and those that they replace as far as the trie's history needs them.

    Many blocks are written in several steps, because the history can only begin between steps.
    """
    first, counted = 0, 0
    for place, (_, of_block) in enumerate(changes):
        counted += len(of_block.accounts) + len(of_block.storage)
        if counted < trie_history.INTERVAL and place + 1 < len(changes):
            continue
        step = tries[first : place + 1]
        keys = sorted({key for trie in step for key in trie.nodes})
        trie_history.keep_nodes(db, changes[first][0] - 1, counted, keys)
        write_nodes(db, step)
        first, counted = place + 1, 0


def write_nodes(db: Database, tries: Sequence[TrieUpdate]) -> None:
    """Write new and changed nodes of the tries, and delete those that no longer exist."""
    nodes: dict[bytes, bytes | None] = {}
    for trie in tries:
        nodes.update(trie.nodes)
    written = ((key, rlp) for key, rlp in sorted(nodes.items()) if rlp is not None)
    db.upsert(models.TrieNode, ("key", "rlp"), written)
    gone = ((key,) for key, rlp in nodes.items() if rlp is None)
    db.delete(models.TrieNode, ("key",), gone)


def _with_cleared(db: Database, changes: StateChanges) -> _SlotChanges:
    """Return the changes of slots, including those that were deleted with a whole storage."""
    slots: _SlotChanges = {}
    for address in changes.cleared:
        for slot, value in evm_state.slots_of(db, address).items():
            slots[address, slot] = SlotChange(value, ZERO_WORD)
    for key, change in changes.storage.items():
        before = slots[key].before if key in slots else change.before
        slots[key] = SlotChange(before, change.after)
    return {key: change for key, change in slots.items() if change.before != change.after}


def _account_history(
    number: int, accounts: Mapping[Address, AccountChange], first: int = 0
) -> Iterator[Row]:
    for position, (address, change) in enumerate(accounts.items(), first):
        nonce, balance, code_hash = change.before or (None, None, None)
        if code_hash == EMPTY_HASH:
            code_hash = NO_CODE
        yield (models.row_id(number, position), address, number, nonce, balance, code_hash)


def _slot_history(number: int, slots: _SlotChanges, first: int = 0) -> Iterator[Row]:
    for position, ((address, slot), change) in enumerate(slots.items(), first):
        yield (models.row_id(number, position), address + slot, number, change.before)


def _write_codes(db: Database, codes: Mapping[Hash, bytes]) -> None:
    db.objects(models.Code).bulk_create(
        [models.Code(hash=code_hash, code=code) for code_hash, code in codes.items()],
        ignore_conflicts=True,
    )


def _write_accounts(db: Database, accounts: Mapping[Address, AccountState | None]) -> None:
    there = ((address, *state) for address, state in accounts.items() if state is not None)
    db.upsert(models.Account, _ACCOUNT, there)
    gone = ((address,) for address, state in accounts.items() if state is None)
    db.delete(models.Account, ("address",), gone)


def _write_slots(db: Database, slots: Mapping[tuple[Address, Slot], Word]) -> None:
    after = [(address + slot, Word(value)) for (address, slot), value in slots.items()]
    db.upsert(models.StorageSlot, _SLOT, (row for row in after if row[1] != ZERO_WORD))
    cleared = ((key,) for key, value in after if value == ZERO_WORD)
    db.delete(models.StorageSlot, ("key",), cleared)
