"""Writes state: what accounts and slots are now, what they were, and the nodes of the trie."""

from collections.abc import Iterator, Mapping

from cchain_app import models
from cchain_app.evm.engine import AccountChange, SlotChange, StateChanges
from cchain_app.evm.trie import TrieUpdate
from cchain_app.store import evm_state
from chaindb import bulk
from primitives.evm import ZERO_WORD, Address, Slot, Word

_ACCOUNT = ("address", "nonce", "balance", "code_hash")
_ACCOUNT_CHANGE = ("id", "address", "number", "nonce", "balance", "code_hash")
_SLOT = ("key", "value")
_SLOT_CHANGE = ("id", "key", "number", "value")

_SlotChanges = dict[tuple[Address, Slot], SlotChange]


def write_changes(number: int, changes: StateChanges) -> None:
    """Write what block `number` changed. Block 0 is where the state begins: it has no before."""
    slots = _with_cleared(changes)
    if number:
        bulk.insert(
            models.AccountChange, _ACCOUNT_CHANGE, _account_history(number, changes.accounts)
        )
        bulk.insert(models.StorageChange, _SLOT_CHANGE, _slot_history(number, slots))
    _write_codes(changes)
    _write_accounts(changes)
    _write_slots(slots)


def write_nodes(trie: TrieUpdate) -> None:
    """Write the trie's nodes that are new or changed, and delete those that are gone."""
    written = ((key, rlp) for key, rlp in trie.nodes.items() if rlp is not None)
    bulk.upsert(models.TrieNode, ("key", "rlp"), written)
    gone = ((key,) for key, rlp in trie.nodes.items() if rlp is None)
    bulk.delete(models.TrieNode, ("key",), gone)


def _with_cleared(changes: StateChanges) -> _SlotChanges:
    """Return the changes of slots, with those that went when a whole storage was deleted."""
    slots: _SlotChanges = {}
    for address in changes.cleared:
        for slot, value in evm_state.slots_of(address).items():
            slots[address, slot] = SlotChange(value, ZERO_WORD)
    for key, change in changes.storage.items():
        before = slots[key].before if key in slots else change.before
        slots[key] = SlotChange(before, change.after)
    return {key: change for key, change in slots.items() if change.before != change.after}


def _account_history(number: int, accounts: Mapping[Address, AccountChange]) -> Iterator[bulk.Row]:
    for place, (address, change) in enumerate(accounts.items()):
        yield (models.row_id(number, place), address, number, *(change.before or (None,) * 3))


def _slot_history(number: int, slots: _SlotChanges) -> Iterator[bulk.Row]:
    for place, ((address, slot), change) in enumerate(slots.items()):
        yield (models.row_id(number, place), address + slot, number, change.before)


def _write_codes(changes: StateChanges) -> None:
    models.Code.objects.bulk_create(
        [models.Code(hash=code_hash, code=code) for code_hash, code in changes.codes.items()],
        ignore_conflicts=True,
    )


def _write_accounts(changes: StateChanges) -> None:
    after = ((address, change.after) for address, change in changes.accounts.items())
    bulk.upsert(models.Account, _ACCOUNT, ((address, *state) for address, state in after if state))
    gone = ((address,) for address, change in changes.accounts.items() if change.after is None)
    bulk.delete(models.Account, ("address",), gone)


def _write_slots(slots: _SlotChanges) -> None:
    after = [(address + slot, Word(change.after)) for (address, slot), change in slots.items()]
    bulk.upsert(models.StorageSlot, _SLOT, (row for row in after if row[1] != ZERO_WORD))
    cleared = ((key,) for key, value in after if value == ZERO_WORD)
    bulk.delete(models.StorageSlot, ("key",), cleared)
