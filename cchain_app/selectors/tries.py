"""The state trie at a height, and the roots of states that were never stored.

The trie is stored as of the head only. That of an earlier height is the head's with the changes since
then undone on top, and checked against that height's state root.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import STORAGE, Change, before
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.select import select_trie
from cchain_app.evm.trie import NodeReader, OverlayReader, TrieError, TrieUpdate, overlay
from cchain_app.selectors import blocks
from cchain_app.selectors.tracing import GenesisNotTraceable, changes_in
from cchain_app.store import development, evm_state
from cchain_app.tracing.deadline import Deadline
from primitives.evm import Address, Hash, Slot, Word

T = TypeVar("T")

_TRIES: Final = 5

ROWS_AT_ONCE: Final = 5_000
"""So many changed accounts or slots are read between two looks at the clock."""


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
    """Ask the state trie after block `number`, of which `ask` is given the root and who reads its nodes.

    It is asked again when a block was committed meanwhile: then the nodes are another trie's.

    Raises:
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
        TraceTimedOut: More has changed since than can be read in the time of a call.
        TrieError: The stored trie is not the head's (never, unless rows were changed by hand).
    """
    for attempt in range(_TRIES):
        head = blocks.catch_up(chain)
        oldest = head.number - chain.node.proof_window
        if number < oldest:
            raise ProofWindowPassed(number, oldest)
        try:
            return ask(*_trie_at(chain, number, head))
        except TrieError:
            if blocks.catch_up(chain).hash == head.hash or attempt == _TRIES - 1:
                raise
    raise AssertionError  # the loop returns or raises


class RootsAfter:
    """The roots of states that follow an accepted block's, one after another; nothing is stored.

    Args:
        chain: The chain.
        block: The accepted block.
    """

    def __init__(self, chain: EvmChain, block: AcceptedBlock) -> None:
        self._chain = chain
        self._number = block.number
        self._root = block.header.state_root
        # Without a cache: that is for the next block, and follows one line of blocks alone.
        self._trie = select_trie(chain.node.engine, cached=False)
        self._changed: dict[bytes, bytes | None] = {}
        self._below: NodeReader | None = None

    def after(self, changes: StateChanges) -> Hash:
        """Return the root after changes to the state of the last root. Raises as `at_height`."""
        update = self._update(changes)
        self._changed.update(update.nodes)
        self._root = update.root
        return update.root

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie of a list."""
        return self._trie.ordered_root(items)

    def _update(self, changes: StateChanges) -> TrieUpdate:
        def update(_: Hash, below: NodeReader) -> TrieUpdate:
            found = self._trie.update(self._root, changes, OverlayReader(below, self._changed))
            self._below = below
            return found

        if self._below is not None:
            try:
                return update(self._root, self._below)
            except TrieError:
                pass  # a block was committed since: below, on the new head
        return at_height(self._chain, self._number, update)


def intermediate_roots(chain: EvmChain, block: AcceptedBlock, *, time_limit: float) -> list[Hash]:
    """Return the state root after each transaction of a block; system calls before them count to the first.

    Args:
        chain: The chain.
        block: The block.
        time_limit: Seconds for each transaction.

    Raises:
        GenesisNotTraceable: It is block 0.
        ProofWindowPassed: It is further below the head than NODE_PROOF_WINDOW.
        TraceDiffers: The block cannot be executed any more.
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
    rows = evm_state.NodeRows(chain.db)
    block = blocks.by_number(chain, number)
    if block is None or number == head.number:
        return head.header.state_root, rows
    undo = changes_back(chain, number, head.number)
    update = chain.proof_trie.update(head.header.state_root, undo, rows)
    if update.root != block.header.state_root:
        raise TrieError(f"undoing the blocks above {number} does not give its state root")
    return update.root, overlay(rows, update)


def changes_back(chain: EvmChain, number: int, head: int) -> StateChanges:
    """Return the change from the head's trie back to that of block `number`.

    Tries have nothing of what was changed by hand after their block, states have (devnet.md 10).
    """
    made_there, pending = _by_hand(chain, number + 1), _by_hand(chain, head + 1)
    accounts = _accounts_back(chain, number, made_there, pending)
    gone = frozenset(address for address, change in accounts.items() if change.after is None)
    slots = _slots_back(chain, number, gone, made_there, pending)
    return StateChanges(accounts=accounts, storage=slots, cleared=gone)


def _by_hand(chain: EvmChain, number: int) -> list[Change]:
    return development.changes_before(chain.db, number) if chain.is_development else []


def _accounts_back(
    chain: EvmChain, number: int, made_there: Sequence[Change], pending: Sequence[Change]
) -> dict[Address, AccountChange]:
    rows = (
        chain.db.objects(models.AccountChange)
        .filter(id__gte=models.row_id(number + 1))
        .order_by("id")
    )
    then: dict[Address, AccountState | None] = {}
    for address, nonce, balance, code_hash in _in_parts(
        chain, rows, "address", "nonce", "balance", "code_hash"
    ):
        state = evm_state.account_of(nonce, balance, code_hash)
        then.setdefault(Address(bytes(address)), state)
    named = {*then, *(one.address for one in (*made_there, *pending) if one.kind != STORAGE)}
    now: dict[Address, AccountState | None] = dict.fromkeys(named)
    now.update(evm_state.accounts_now(chain.db, named))
    then = {address: then.get(address) if address in then else now[address] for address in named}
    then.update(before(made_there, then).accounts)
    now.update(before(pending, now).accounts)
    changes = {address: AccountChange(now[address], state) for address, state in then.items()}
    return {address: change for address, change in changes.items() if change.before != change.after}


def _slots_back(
    chain: EvmChain,
    number: int,
    gone: frozenset[Address],
    made_there: Sequence[Change],
    pending: Sequence[Change],
) -> dict[tuple[Address, Slot], SlotChange]:
    rows = (
        chain.db.objects(models.StorageChange)
        .filter(id__gte=models.row_id(number + 1))
        .order_by("id")
    )
    then: dict[bytes, Word] = {}
    for key, value in _in_parts(chain, rows, "key", "value"):
        then.setdefault(bytes(key), Word(bytes(value)))
    was_there, was_now = before(made_there, {}).slots, before(pending, {}).slots
    by_hand = {address + slot for address, slot in (*was_there, *was_now)}
    now = evm_state.slots_now(chain.db, {*then, *by_hand})
    then = {key: then.get(key, value) for key, value in now.items()}
    then.update((address + slot, value) for (address, slot), value in was_there.items())
    now.update((address + slot, value) for (address, slot), value in was_now.items())
    return {
        (Address(key[:20]), Slot(key[20:])): SlotChange(now[key], value)
        for key, value in then.items()
        if now[key] != value and Address(key[:20]) not in gone
    }


def _in_parts(chain: EvmChain, rows: Any, *fields: str) -> Iterator[list[Any]]:
    """Yield fields of rows in the order of their keys, read in parts within the time of a call.

    Raises:
        TraceTimedOut: There are too many.
    """
    deadline = Deadline(chain.node.rpc_call_timeout)
    part = list(rows.values_list("id", *fields)[:ROWS_AT_ONCE])
    while part:
        deadline.left()
        yield from (found for _, *found in part)
        if len(part) < ROWS_AT_ONCE:
            return
        part = list(rows.filter(id__gt=part[-1][0]).values_list("id", *fields)[:ROWS_AT_ONCE])
