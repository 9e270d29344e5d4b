"""The state trie at a height, and the roots of states that were never stored.

The head's trie is stored, and within NODE_PROOF_WINDOW those at the beginnings of intervals (`store.trie_history`). The
trie of any other height is the next of these with an overlay that reverts the changes in between, of a few hundred
accounts and slots; its root is checked against that height's state root. Blocks from before an upgrade of the node, and
forks, have no such beginnings: their tries result from the head's.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Final, TypeVar

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import STORAGE, StateEdit, as_state_changes, before
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges, StateReader
from cchain_app.evm.pending_state import with_owners
from cchain_app.evm.trie import NodeReader, OverlayReader, TrieError, TrieUpdate, overlay
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_after, state_at
from cchain_app.selectors.tracing import GenesisNotTraceable, changes_in
from cchain_app.store import chain as stored
from cchain_app.store import development, evm_state, forked, history, trie_history
from cchain_app.tracing.output import Deadline
from chaindb.fields import HEIGHTS
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_ROOT

T = TypeVar("T")

_TRIES: Final = 5
_ADDRESS_BYTES: Final = 20

_ACCOUNTS: Final = """
SELECT id, address, nonce, balance, code_hash FROM cchain_app_accountchange
WHERE id >= %s AND id < %s ORDER BY id LIMIT %s
"""
_SLOTS: Final = """
SELECT id, key, value FROM cchain_app_storagechange WHERE id >= %s AND id < %s ORDER BY id LIMIT %s
"""

ROWS_AT_ONCE: Final = 5_000
"""Changed accounts or slots that are read between two checks of the deadline."""


class ProofWindowPassed(Exception):
    """The height is too far below the head."""

    def __init__(self, number: int, oldest: int) -> None:
        super().__init__(
            f"block {number} is below the oldest block with proofs, {oldest}: the window is set by "
            "NODE_PROOF_WINDOW"
        )
        self.number = number
        self.oldest = oldest


def at_height(chain: EvmChain, number: int, ask: Callable[[Hash, NodeReader], T]) -> T:
    """Call `ask` with the root of the state trie after block `number` and a reader of its nodes.

    If a block was committed meanwhile, the nodes are those of another trie, and `ask` is called again.

    Raises:
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
        StatePruned: The state of that height was pruned.
        TraceTimedOut: More has changed since that height than can be read in the time limit of a call.
        TrieError: The stored trie is not the head's (never, unless the rows were edited).
    """
    for attempt in range(_TRIES):
        head = blocks.catch_up(chain)
        oldest = head.number - chain.settings.proof_window
        if number < oldest:
            raise ProofWindowPassed(number, oldest)
        try:
            return ask(*_trie_at(chain, number, head))
        except TrieError:
            if blocks.catch_up(chain).hash == head.hash or attempt == _TRIES - 1:
                raise
    raise AssertionError  # the loop returns or raises


def after_block(chain: EvmChain, block: AcceptedBlock, ask: Callable[[Hash, NodeReader], T]) -> T:
    """Call `ask` with the state trie after an accepted block or the pending one. As `at_height`."""
    if not isinstance(block, PendingBlock):
        return at_height(chain, block.number, ask)

    def ask_above(_: Hash, nodes: NodeReader) -> T:
        return ask(Hash(block.header.state_root), overlay(nodes, block.trie))

    return at_height(chain, block.parent.number, ask_above)


def root_after(chain: EvmChain, block: AcceptedBlock) -> Hash:
    """Return the root of the stored trie after a block; a fork's trie is empty at its fork block."""
    fork = chain.fork
    return (
        EMPTY_ROOT if fork is not None and block.number == fork.number else block.header.state_root
    )


class RootsAfter:
    """Computes the roots of states that follow an accepted block or the pending one; nothing is stored.

    State edits on the block are part of its state, but enter the trie only with the next block.

    Args:
        chain: The chain.
        block: The block.

    Raises:
        TrieError: As `at_height`.
    """

    def __init__(self, chain: EvmChain, block: AcceptedBlock) -> None:
        self._chain = chain
        self._block = block
        self._root = root_after(chain, block)
        self._accounts: dict[Address, AccountState | None] = {}
        """On a fork: the accounts that changed since the block."""
        # Without a cache, because the cache is for the next block, and follows a single branch of blocks.
        self._trie = chain.new_trie(cached=False)
        self._changed: dict[bytes, bytes | None] = {}
        self._below: NodeReader | None = None
        if isinstance(block, PendingBlock):
            return  # state edits apply to accepted blocks
        if changes := _edits_before(chain, block.number + 1):
            self.after(_effect(state_at(chain, block.number), changes))

    def after(self, changes: StateChanges) -> Hash:
        """Return the root after changes to the state of the last root. Raises as `at_height`."""
        if self._chain.fork is not None:
            changes = with_owners(changes, self._account)
            self._accounts.update((key, change.after) for key, change in changes.accounts.items())
        update = self._update(changes)
        self._changed.update(update.nodes)
        self._root = update.root
        return update.root

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie of a list."""
        return self._trie.ordered_root(items)

    def _account(self, address: Address) -> AccountState | None:
        if address in self._accounts:
            return self._accounts[address]
        return state_after(self._chain, self._block).account(address)

    def _update(self, changes: StateChanges) -> TrieUpdate:
        def update(_: Hash, below: NodeReader) -> TrieUpdate:
            found = self._trie.update(self._root, changes, OverlayReader(below, self._changed))
            self._below = below
            return found

        if self._below is not None:
            try:
                return update(self._root, self._below)
            except TrieError:
                pass  # a block was committed since: repeat on the new head
        return after_block(self._chain, self._block, update)


def intermediate_roots(chain: EvmChain, block: AcceptedBlock, *, time_limit: float) -> list[Hash]:
    """Return the state root after each transaction of a block; the first includes the system calls before it.

    Args:
        chain: The chain.
        block: The block.
        time_limit: Seconds for each transaction.

    Raises:
        GenesisNotTraceable: It is block 0.
        ProofWindowPassed: It is further below the head than NODE_PROOF_WINDOW.
        TraceDiffers: The block can no longer be executed.
        TraceTimedOut: A transaction took too long.
    """
    parent = blocks.by_number(chain, block.number - 1) if block.number else None
    if parent is None:
        raise GenesisNotTraceable
    before, *others = changes_in(chain, block, len(block.transactions), time_limit=time_limit)
    roots = RootsAfter(chain, parent)
    roots.after(before)
    return [roots.after(changes) for changes in others]


def _trie_at(chain: EvmChain, number: int, head: AcceptedBlock) -> tuple[Hash, NodeReader]:
    if number >= head.number:
        return root_after(chain, head), evm_state.NodeRows(chain.db)
    reader: NodeReader
    beginning = trie_history.next_beginning(chain.db, number) if chain.fork is None else None
    if beginning is None:
        above, reader, root = head.number, evm_state.NodeRows(chain.db), root_after(chain, head)
    else:
        above, reader = beginning, trie_history.NodesAtBeginning(chain.db, beginning)
        root = _stored_root(chain, beginning)
    if above == number:
        history.verify_state(chain.db, number)
        return root, reader
    made_there = _edits_before(chain, number + 1)
    if chain.fork is None:
        undo = _changes_between(chain, number, above, made_there)
    else:
        undo = changes_back(chain, number, made_there, _edits_before(chain, head.number + 1))
    update = chain.proof_trie.update(root, undo, reader)
    if update.root != _stored_root(chain, number):
        raise TrieError(f"undoing the blocks above {number} does not give its state root")
    return update.root, overlay(reader, update)


def _stored_root(chain: EvmChain, number: int) -> Hash:
    """Return the root of the stored trie after a block, as `root_after`.

    Raises:
        TrieError: The block does not exist, because the chain was rewound meanwhile.
    """
    remembered = chain.memory.blocks.by_number(number)
    if remembered is not None:
        return root_after(chain, remembered)
    if chain.fork is not None and number == chain.fork.number:
        return EMPTY_ROOT
    try:
        return stored.state_root_of(chain.db, number)
    except models.Block.DoesNotExist:
        raise TrieError(f"block {number} does not exist any more") from None


def _changes_between(
    chain: EvmChain, number: int, above: int, made_there: Sequence[StateEdit]
) -> StateChanges:
    """Return the changes from the trie of a block back to the trie of block `number`, as `changes_back`.

    The values before the changes are not read, which the trie does not need: those after are given for both. Changes
    that undo each other are included.

    Args:
        chain: The chain, which is not a fork.
        number: The height of the block.
        above: The height of the block above it.
        made_there: The state edits after block `number`.
    """
    then: dict[Address, AccountState | None] = {}
    for address, nonce, balance, code_hash in _in_parts(chain, _ACCOUNTS, number + 1, above):
        state = evm_state.account_of(nonce, balance, code_hash)
        then.setdefault(Address(bytes(address)), state)
    slots: dict[tuple[Address, Slot], Word] = {}
    for key, value in _in_parts(chain, _SLOTS, number + 1, above):
        place = bytes(key)
        slots.setdefault((Address(place[:20]), Slot(place[20:])), Word(bytes(value)))
    for edit in made_there:
        if edit.kind != STORAGE and edit.address not in then:
            then[edit.address] = evm_state.account_at(chain.db, edit.address, number)
    was = before(made_there, then)
    then.update(was.accounts)
    slots.update(was.slots)
    history.verify_state(chain.db, number)
    gone = frozenset(address for address, account in then.items() if account is None)
    return StateChanges(
        accounts={address: AccountChange(account, account) for address, account in then.items()},
        storage={
            place: SlotChange(value, value)
            for place, value in slots.items()
            if place[0] not in gone
        },
        cleared=gone,
    )


def changes_back(
    chain: EvmChain, number: int, made_there: Sequence[StateEdit], pending: Sequence[StateEdit]
) -> StateChanges:
    """Return the changes from the head's trie back to the trie of block `number`.

    State edits after a block are part of its state, but not of its trie (devnet.md 10).

    Args:
        chain: The chain.
        number: The height of the block.
        made_there: The state edits after the block.
        pending: The state edits after the head.

    Raises:
        StatePruned: The state of that height was pruned.
        TraceTimedOut: As `at_height`.
    """
    absent = forked.leaves_above(chain.db, number) if chain.fork is not None else frozenset()
    accounts = _accounts_back(chain, number, made_there, pending, absent=absent)
    gone = frozenset(address for address, change in accounts.items() if change.after is None)
    slots = _slots_back(chain, number, gone, made_there, pending, absent=absent)
    history.verify_state(chain.db, number)
    return StateChanges(accounts=accounts, storage=slots, cleared=gone)


def _edits_before(chain: EvmChain, number: int) -> list[StateEdit]:
    return development.changes_before(chain.db, number) if chain.is_development else []


def _effect(state: StateReader, changes: Sequence[StateEdit]) -> StateChanges:
    """Return the combined effect of state edits on a state that contains them."""
    named = {change.address for change in changes if change.kind != STORAGE}
    accounts = {address: state.account(address) for address in named}
    was = before(changes, accounts)
    return as_state_changes(was, accounts, {key: state.storage(*key) for key in was.slots})


def _accounts_back(
    chain: EvmChain,
    number: int,
    made_there: Sequence[StateEdit],
    pending: Sequence[StateEdit],
    *,
    absent: Set[bytes],
) -> dict[Address, AccountChange]:
    """Return the changes of accounts; `absent` contains the keys that a fork's trie lacks at that height."""
    then: dict[Address, AccountState | None] = {}
    for address, nonce, balance, code_hash in _in_parts(chain, _ACCOUNTS, number + 1):
        state = evm_state.account_of(nonce, balance, code_hash)
        then.setdefault(Address(bytes(address)), state)
    named = {*then, *(item.address for item in (*made_there, *pending) if item.kind != STORAGE)}
    named.update(Address(key) for key in absent if len(key) == _ADDRESS_BYTES)
    now: dict[Address, AccountState | None] = dict.fromkeys(named)
    now.update(evm_state.accounts_now(chain.db, named))
    then = {address: then.get(address) if address in then else now[address] for address in named}
    then.update(before(made_there, then).accounts)
    now.update(before(pending, now).accounts)
    if chain.fork is not None:
        _leave_out(chain, now, then, absent, None)
    changes = {address: AccountChange(now[address], state) for address, state in then.items()}
    return {address: change for address, change in changes.items() if change.before != change.after}


def _slots_back(
    chain: EvmChain,
    number: int,
    gone: frozenset[Address],
    made_there: Sequence[StateEdit],
    pending: Sequence[StateEdit],
    *,
    absent: Set[bytes],
) -> dict[tuple[Address, Slot], SlotChange]:
    then: dict[bytes, Word] = {}
    for key, value in _in_parts(chain, _SLOTS, number + 1):
        then.setdefault(bytes(key), Word(bytes(value)))
    was_there, was_now = before(made_there, {}).slots, before(pending, {}).slots
    edited = {address + slot for address, slot in (*was_there, *was_now)}
    edited.update(key for key in absent if len(key) > _ADDRESS_BYTES)
    now = evm_state.slots_now(chain.db, {*then, *edited})
    then = {key: then.get(key, value) for key, value in now.items()}
    then.update((address + slot, value) for (address, slot), value in was_there.items())
    now.update((address + slot, value) for (address, slot), value in was_now.items())
    if chain.fork is not None:
        _leave_out(chain, now, then, absent, ZERO_WORD)
    return {
        (Address(key[:20]), Slot(key[20:])): SlotChange(now[key], value)
        for key, value in then.items()
        if now[key] != value and Address(key[:20]) not in gone
    }


def _leave_out(
    chain: EvmChain, now: dict[Any, Any], then: dict[Any, Any], absent: Set[bytes], nothing: object
) -> None:
    """Replace accounts or slots that a fork's trie does not contain by `nothing`.

    Args:
        chain: The fork.
        now: Values in the head's trie, which lacks a key if no block has changed it yet.
        then: Values in an earlier trie, which also lacks a key if only later blocks changed it.
        absent: The keys that only later blocks changed.
        nothing: The value of an absent key.
    """
    wanted = [*then]
    known = forked.leaves_of(chain.db, wanted)
    for key in wanted:
        if key not in known:
            now[key] = nothing
        if key not in known or key in absent:
            then[key] = nothing


def _in_parts(
    chain: EvmChain, statement: str, number: int, last: int = HEIGHTS - 2
) -> Iterator[list[Any]]:
    """Yield the changes of blocks `number` to `last` in order, read in parts within the time limit of a call.

    Raises:
        TraceTimedOut: There are too many changes.
    """
    deadline = Deadline(chain.settings.rpc.call_timeout)
    first, end = models.row_id(number), models.row_id(last + 1)
    while part := chain.db.rows(statement, (first, end, ROWS_AT_ONCE)):
        deadline.left()
        yield from (found for _, *found in part)
        if len(part) < ROWS_AT_ONCE:
            return
        first = part[-1][0] + 1
