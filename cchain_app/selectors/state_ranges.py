"""State by ranges, in the order of the trie: slots of an account, accounts; and differences between blocks.

Nothing is stored in that order: each query hashes all keys and takes the lowest hashes. The time for that grows
with the number of keys, so there is a deadline.

    RangeTimedOut
"""

import heapq
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.coreth import MULTI_COIN_SLOT
from cchain_app.evm.engine import AccountState
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.trie import NodeReader
from cchain_app.selectors.tries import after_block
from cchain_app.store import evm_state
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import keccak256

T = TypeVar("T")

_LOOK: Final = 500
"""Items that are processed between two checks of the deadline."""


class RangeTimedOut(Exception):
    """There are more items than can be processed in the time."""

    def __init__(self) -> None:
        super().__init__("execution timeout")


class FoundSlot(NamedTuple):
    """A slot that is not zero."""

    hash: Hash
    """Keccak-256 of the slot, which defines the order of slots."""
    slot: Slot
    value: Word


class FoundAccount(NamedTuple):
    """An account."""

    hash: Hash
    """Keccak-256 of the address, which defines the order of accounts."""
    address: Address
    state: AccountState
    storage_root: Hash


class SlotRange(NamedTuple):
    """Some slots of an account, in order."""

    slots: list[FoundSlot]
    next: Hash | None
    """The hash of the next slot; None if there are no further slots."""


class AccountRange(NamedTuple):
    """Some accounts, in order."""

    accounts: list[FoundAccount]
    next: Hash | None
    """The hash of the next account; None if there are no further accounts."""


def storage_range(
    chain: EvmChain,
    number: int,
    above: PendingState | None,
    address: Address,
    *,
    start: bytes,
    most: int,
    seconds: float,
) -> SlotRange:
    """Return slots of an account in the order of their hashes.

    Args:
        chain: The chain.
        number: Height of a block; the slots are those of the state after it.
        above: Changes to apply to that state, or None.
        address: The account.
        start: The first hash, or a prefix of it.
        most: Maximum number of slots to return.
        seconds: The time limit.

    Raises:
        RangeTimedOut: It takes longer.
    """
    slots = _within(_slots(chain, number, above, address), seconds)
    found = heapq.nsmallest(most + 1, (slot for slot in slots if slot.hash >= start))
    return SlotRange(found[:most], found[most].hash if len(found) > most else None)


def _slots(
    chain: EvmChain, number: int, above: PendingState | None, address: Address
) -> Iterator[FoundSlot]:
    changed = {} if above is None else above.slots_of(address)
    if chain.is_of_coreth:
        changed[MULTI_COIN_SLOT] = ZERO_WORD  # the trie has no such slot
    if above is None or not above.is_cleared(address):
        for slot, value in evm_state.slots_at(chain.db, address, number):
            if slot not in changed:
                yield FoundSlot(keccak256(slot), slot, value)
    for slot, value in changed.items():
        if value != ZERO_WORD:
            yield FoundSlot(keccak256(slot), slot, value)


def account_range(
    chain: EvmChain, block: AcceptedBlock, start: bytes, most: int, *, seconds: float
) -> AccountRange:
    """Return accounts after an accepted block or the pending one, in the order of their hashes.

    Args:
        chain: The chain.
        block: The block.
        start: The first hash, or a prefix of it.
        most: Maximum number of accounts to return.
        seconds: The time limit.

    Raises:
        RangeTimedOut: It takes longer.
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
    """
    hashed = _within(
        ((keccak256(address), address) for address in _addresses(chain, block)), seconds
    )
    lowest = heapq.nsmallest(most + 1, (entry for entry in hashed if entry[0] >= start))
    accounts = _with_roots(chain, block, lowest[:most])
    return AccountRange(accounts, lowest[most][0] if len(lowest) > most else None)


def _addresses(chain: EvmChain, block: AcceptedBlock) -> Iterator[Address]:
    if not isinstance(block, PendingBlock):
        yield from evm_state.addresses_at(chain.db, block.number)
        return
    changed = block.state.accounts()
    for address in evm_state.addresses_at(chain.db, block.parent.number):
        if address not in changed:
            yield address
    yield from (address for address, account in changed.items() if account is not None)


def _with_roots(
    chain: EvmChain, block: AcceptedBlock, hashed: list[tuple[Hash, Address]]
) -> list[FoundAccount]:
    def read(root: Hash, nodes: NodeReader) -> list[FoundAccount]:
        accounts = []
        for digest, address in hashed:
            proof = chain.proof_trie.prove(root, address, (), nodes)
            assert proof.account is not None, "the rows and the trie are of one state"
            accounts.append(FoundAccount(digest, address, proof.account, proof.storage_root))
        return accounts

    return after_block(chain, block, read)


def modified_accounts(chain: EvmChain, start: int, end: int, *, seconds: float) -> list[Address]:
    """Return the accounts that differ between the states after two blocks, in the order of their hashes.

    Args:
        chain: The chain.
        start: Height of the earlier block.
        end: Height of the later one.
        seconds: The time limit.

    Raises:
        RangeTimedOut: It takes longer.
    """
    db, modified = chain.db, set()
    accounts = evm_state.changed_accounts(db, start + 1, end)
    for address, count in _within(accounts, seconds):
        # An account that a single block changed is different; several blocks may have restored the old value.
        if count == 1 or evm_state.account_at(db, address, start) != evm_state.account_at(
            db, address, end
        ):
            modified.add(address)
    slots = evm_state.changed_slots(db, start + 1, end)
    for address, slot, count in _within(slots, seconds):
        if address not in modified and (
            count == 1
            or evm_state.slot_at(db, address, slot, start)
            != evm_state.slot_at(db, address, slot, end)
        ):
            modified.add(address)
    return sorted(modified, key=keccak256)


def _within(things: Iterable[T], seconds: float) -> Iterator[T]:
    deadline = time.monotonic() + seconds
    for count, thing in enumerate(things):
        if count % _LOOK == 0 and time.monotonic() > deadline:
            raise RangeTimedOut
        yield thing
