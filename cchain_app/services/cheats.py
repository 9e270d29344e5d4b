"""Manual changes of a development chain: its state, and overrides for its next blocks (devnet.md 3, 7).

Each change is one transaction under the chain's lock. A state change applies to the head immediately; the next
block's state root includes it. Acknowledged changes are stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import (
    BALANCE,
    CODE,
    NOBODY,
    NONCE,
    STORAGE,
    StateEdit,
    as_state_changes,
    before,
    lower_a_nonce,
    value_of,
    with_value,
)
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.selectors import blocks, forked
from cchain_app.selectors.forked import supplied
from cchain_app.selectors.state import StateAt, state_at
from cchain_app.store import chain as stored
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state
from cchain_app.store import pool as pool_rows
from chaindb.locks import BUSY_SECONDS, Lock
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import keccak256

T = TypeVar("T")

_MANY: Final = 64
"""If a request makes at least this many changes, the accounts and slots are read in bulk."""


class AccountEdit(NamedTuple):
    """A requested edit: which field of which account gets which value."""

    address: Address
    kind: int
    """As in `development.changes`."""
    value: Word
    """As 32 bytes; for code, its hash."""
    slot: Slot | None = None
    code: bytes | None = None


def balance(address: Address, wei: int) -> AccountEdit:
    """Return an edit that sets an account's balance."""
    return AccountEdit(address, BALANCE, Word(wei.to_bytes(32, "big")))


def nonce(address: Address, count: int) -> AccountEdit:
    """Return an edit that sets an account's nonce."""
    return AccountEdit(address, NONCE, Word(count.to_bytes(32, "big")))


def code(address: Address, runtime: bytes) -> AccountEdit:
    """Return an edit that sets an account's code; empty bytes remove it."""
    return AccountEdit(address, CODE, Word(keccak256(runtime)), code=runtime)


def storage(address: Address, slot: Slot, value: Word) -> AccountEdit:
    """Return an edit that sets the value of a storage slot."""
    return AccountEdit(address, STORAGE, value, slot)


@contextmanager
def exclusively(chain: EvmChain) -> Iterator[AcceptedBlock]:
    """Lock the chain within one database transaction, and yield its head.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        WaitedTooLong: Another thread has worked on the chain for `BUSY_SECONDS`.
    """
    if chain.has_peers():
        raise DevelopmentError(DevelopmentReason.HAS_PEERS)
    # Block producers of this process wait; a command that makes a block detects that the state has changed.
    with chain.vm_lock.held(BUSY_SECONDS), chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        chain.db.acquire(Lock.CCHAIN_POOL)
        yield blocks.catch_up(chain)


def change_state(
    chain: EvmChain, wanted: Callable[[StateAt], Sequence[AccountEdit]] | Sequence[AccountEdit]
) -> None:
    """Change accounts of the head's state, all of them or none.

    An account that is empty afterwards no longer exists.

    Unspecified: an account that would have only storage gets nonce 1, as contracts have. An account that is empty apart
    from its storage cannot exist on a chain (EIP-161), and the first transaction that touched it would delete it.

    Args:
        chain: The chain.
        wanted: The edits, or a function that returns them for the current state.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        UpstreamError: The chain is a fork, and the upstream does not return the current values.
    """

    def change() -> tuple[AcceptedBlock, StateChanges]:
        with exclusively(chain) as head:
            return head, write_changes(chain, head, wanted)

    head, effect = supplied(chain, change)
    _announce(chain, head, effect)


def write_changes(
    chain: EvmChain,
    head: AcceptedBlock,
    wanted: Callable[[StateAt], Sequence[AccountEdit]] | Sequence[AccountEdit],
) -> StateChanges:
    """Write edits of the head's state within the caller's transaction, and return the resulting state changes."""
    state = state_at(chain, head.number)
    asked = wanted(state) if callable(wanted) else wanted
    done = _AppliedEdits(
        state, asked, partial(evm_state.slots_of, chain.db), *_known_before(chain, asked)
    )
    first = development_rows.count_before(chain.db, head.number + 1)
    development_rows.apply(chain.db, head.number, done.changes, done.effect, first)
    if lower_a_nonce(done.effect):
        development_rows.set_conditions(
            chain.db, replace(development_rows.conditions(chain.db), nonces_lowered=True)
        )
    return done.effect


def _known_before(
    chain: EvmChain, asked: Sequence[AccountEdit]
) -> tuple[dict[Address, AccountState | None], dict[tuple[Address, Slot], Word]]:
    """Return accounts and slots as of the head if there are many edits; they are read hundreds at a time.

    Raises:
        MissingState: The chain is a fork, and some of the accounts were not fetched.
    """
    if len(asked) < _MANY:
        return {}, {}
    addresses = list(dict.fromkeys(item.address for item in asked))
    accounts: dict[Address, AccountState | None] = dict.fromkeys(addresses)
    accounts.update(evm_state.accounts_now(chain.db, addresses))
    if chain.fork is not None:
        missing = [address for address, account in accounts.items() if account is None]
        accounts.update(forked.accounts(chain, chain.fork, missing))
        return accounts, {}  # slots that were not fetched are not necessarily zero
    keys = {
        other.address + other.slot: (other.address, other.slot)
        for other in asked
        if other.slot is not None
    }
    slots = evm_state.slots_now(chain.db, keys)
    return accounts, {keys[key]: word for key, word in slots.items()}


class _AppliedEdits:
    """Edits applied to a state one after another, and their combined effect."""

    def __init__(
        self,
        state: StateAt,
        wanted: Sequence[AccountEdit],
        stored: Callable[[Address], Mapping[Slot, Word]],
        accounts: dict[Address, AccountState | None],
        slots: Mapping[tuple[Address, Slot], Word],
    ) -> None:
        self._state = state
        self._stored = stored
        self._accounts = accounts
        self._slots_before = slots
        self._slots: dict[tuple[Address, Slot], Word] = {}
        self._codes: dict[Hash, bytes] = {}
        self._changed: set[Address] = set()
        """Accounts with an edit of something other than storage."""
        self.changes: list[StateEdit] = []
        """In order, with the values before."""
        for item in wanted:
            self._apply(item)
        self.effect = self._effect()
        """The combined state changes."""

    def _account(self, address: Address) -> AccountState | None:
        if address not in self._accounts:
            self._accounts[address] = self._state.account(address)
        return self._accounts[address]

    def _apply(self, edit: AccountEdit) -> None:
        account = self._account(edit.address)
        if edit.slot is not None:
            if account is None:
                # Only an existing account can have storage.
                self._apply(balance(edit.address, 0))
            key = (edit.address, edit.slot)
            old = self._slots.get(key) or self._slots_before.get(key) or self._state.storage(*key)
            self.changes.append(StateEdit(STORAGE, edit.address, edit.value, old, edit.slot))
            self._slots[key] = edit.value
            return
        old_value = None if account is None else value_of(account, edit.kind)
        self.changes.append(StateEdit(edit.kind, edit.address, edit.value, old_value))
        self._changed.add(edit.address)
        self._accounts[edit.address] = with_value(account or NOBODY, edit.kind, edit.value)
        if edit.code:
            self._codes[Hash(edit.value)] = edit.code

    def _effect(self) -> StateChanges:
        with_storage = {address for (address, _), word in self._slots.items() if any(word)}
        for address in [
            changed for changed, account in self._accounts.items() if account == NOBODY
        ]:
            if address in with_storage or self._has_stored(address):
                self._apply(nonce(address, 1))
            else:
                self._forget(address)
        was = before(self.changes, self._accounts)
        effect = as_state_changes(was, self._accounts, self._slots)
        return StateChanges(effect.accounts, effect.storage, self._codes)

    def _forget(self, address: Address) -> None:
        """Delete an empty account, even if only its storage was edited."""
        if address not in self._changed:
            nothing = value_of(NOBODY, BALANCE)
            self.changes.append(StateEdit(BALANCE, address, nothing, nothing))
        self._accounts[address] = None

    def _has_stored(self, address: Address) -> bool:
        """Return whether an account has a stored slot without an edit."""
        return any((address, slot) not in self._slots for slot in self._stored(address))


def _announce(chain: EvmChain, head: AcceptedBlock, effect: StateChanges) -> None:
    """Update this process's memory with the changed values."""
    with chain.memory.moving:
        chain.memory.state.change(head.number, effect)
        if lower_a_nonce(effect):
            chain.memory.conditions.reset()  # they contain the flag for lowered nonces
    chain.memory.pool.changed()
    chain.memory.counts.reset()  # with another nonce, other transactions are executable


def change_conditions(
    chain: EvmChain, change: Callable[[NextBlockOverrides, AcceptedBlock], NextBlockOverrides]
) -> NextBlockOverrides:
    """Change the overrides for future blocks, and return the new ones.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        DevelopmentError: Raised by `change`.
    """
    with exclusively(chain) as head:
        overrides = change(development_rows.conditions(chain.db), head)
        development_rows.set_conditions(chain.db, overrides)
    chain.memory.conditions.reset()
    chain.memory.pool.changed()
    return overrides


def set_chain_id(chain: EvmChain, chain_id: int) -> None:
    """Permanently change the chain ID of a chain that has only its first block.

    Block 0 stays the same, because its header does not contain the chain ID. The P-Chain stays the same too: its genesis
    contains the C-Chain's genesis file from the start of the network, with the first ID in it, and the C-Chain's
    blockchain ID is derived from that. Nodes that join get the file with the new ID (`services.genesis.genesis_text`).

    Args:
        chain: The chain.
        chain_id: From 1 on, at most 63 bits; the current ID changes nothing.

    Raises:
        DevelopmentError: Other nodes follow the chain, it is a fork, it has blocks above the first, or its pool is not
            empty.
    """
    with exclusively(chain) as head:
        if chain_id == chain.config.chain_id:
            return
        if chain.fork is not None:
            raise DevelopmentError(
                DevelopmentReason.FORK_HAS_CHAIN_ID, chain_id=chain.config.chain_id
            )
        if head.number > chain.first_number:
            raise DevelopmentError(DevelopmentReason.CHAIN_HAS_BLOCKS, height=head.number)
        if waiting := len(pool_rows.stored(chain.db)):
            raise DevelopmentError(DevelopmentReason.TRANSACTIONS_WAIT, count=waiting)
        stored.set_chain_id(chain.db, chain_id)
    with chain.memory.moving:
        chain.use_chain_id(chain_id)
