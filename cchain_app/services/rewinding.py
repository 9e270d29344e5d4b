"""Rewinds the chain to an earlier block and a number of manual changes on it (devnet.md 5 and 8).

The cost depends on the changes since then, not on the size of the state, because change sets make each height a
snapshot. The trie is rewound with the state, and its root is compared with that of the block.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from django.db import DatabaseError

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import StateEdit, before
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import TrieError
from cchain_app.selectors import blocks
from cchain_app.selectors.tries import changes_back, root_after
from cchain_app.store import accounts as account_rows
from cchain_app.store import atomic as atomic_rows
from cchain_app.store import chain as stored
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state, forked, state
from primitives.evm import Address


def rewind(
    chain: EvmChain,
    head: AcceptedBlock,
    number: int,
    conditions: Callable[[NextBlockOverrides], NextBlockOverrides],
    kept_changes: int | None = None,
) -> None:
    """Make an earlier block the head again, within the caller's transaction (`cheats.exclusively`).

    Current signature impersonations apply from the next block on. Call `moved` after the commit.

    Args:
        chain: The chain.
        head: Its last block.
        number: Height of the new head.
        conditions: Returns the overrides for future blocks after the rewind, given those before.
        kept_changes: Number of the manual changes on the new head that stay; None: all.

    Raises:
        TrieError: The stored trie is not the head's (only possible if rows were edited directly).
        DevelopmentError: A block above has atomic transactions, whose coins other chains may have moved on.
    """
    _verify_no_transfers(chain, number)
    made_there = development_rows.changes_before(chain.db, number + 1)
    kept = len(made_there) if kept_changes is None else kept_changes
    undone = made_there[kept:]
    back = _rewind_trie(chain, number, head, made_there) if number < head.number else None
    state.write_now(chain.db, back or _state_back(chain, number, undone))
    if undone or number < head.number:
        development_rows.forget_changes(chain.db, number + 1, kept, undone)
    development_rows.forget_snapshots_above(chain.db, number, kept_changes)
    overrides = development_rows.conditions(chain.db)
    if number < head.number:
        stored.forget_above(chain.db, number)
        account_rows.keep_signatures(chain.db, overrides.signatures, number + 1)
        for listener in chain.on_rewinding:
            listener(number)
        overrides = replace(overrides, rewinds=overrides.rewinds + 1)
        development_rows.add_rewind(chain.db, overrides.rewinds, number)
    elif undone:
        for listener in chain.on_rewinding:
            listener(number)
    development_rows.set_conditions(chain.db, conditions(overrides))


def _verify_no_transfers(chain: EvmChain, number: int) -> None:
    """Refuse to undo a block that moved coins from or to another chain: the other chain is not rewound.

    Raises:
        DevelopmentError: There is such a block above the height.
    """
    block = atomic_rows.last_block_above(chain.db, number)
    if block is not None:
        raise DevelopmentError(DevelopmentReason.MOVED_COINS, block=block)


def _rewind_trie(
    chain: EvmChain, number: int, head: AcceptedBlock, made_there: Sequence[StateEdit]
) -> StateChanges | None:
    """Restore the trie's nodes at a block's root; return the change of the state if it equals that of the trie.

    It differs if there were manual changes, or if slots were deleted with their account.
    """
    target = blocks.by_number(chain, number)
    assert target is not None
    pending = development_rows.changes_before(chain.db, head.number + 1)
    back = changes_back(chain, number, made_there, pending)
    trie = chain.new_trie(cached=False)
    update = trie.update(root_after(chain, head), back, evm_state.NodeRows(chain.db))
    if update.root != root_after(chain, target):
        raise TrieError(f"undoing the blocks above {number} does not give its state root")
    state.write_nodes(chain.db, [update])
    if chain.fork is not None:
        forked.forget_leaves_above(chain.db, number)
        return None
    return None if made_there or pending or back.cleared else back


def _state_back(chain: EvmChain, number: int, undone: Sequence[StateEdit]) -> StateChanges:
    """Return the change from the current accounts and slots to their values at a height."""
    accounts, slots = evm_state.values_at(chain.db, number)
    named = [*accounts, *(item.address for item in undone if item.slot is None)]
    now: dict[Address, AccountState | None] = dict.fromkeys(named)
    now.update(evm_state.accounts_now(chain.db, set(named)))
    then = {address: accounts[address] if address in accounts else now[address] for address in now}
    was = before(undone, then)
    then.update(was.accounts)
    slots.update(was.slots)
    keys = {address + slot: (address, slot) for address, slot in slots}
    slots_now = {keys[key]: word for key, word in evm_state.slots_now(chain.db, keys).items()}
    return StateChanges(
        accounts={
            other: AccountChange(now[other], then[other])
            for other in then
            if now[other] != then[other]
        },
        storage={
            key: SlotChange(slots_now[key], word)
            for key, word in slots.items()
            if slots_now[key] != word
        },
    )


@contextmanager
def staying(chain: EvmChain) -> Iterator[None]:
    """Restore this process's memory if the body fails, which moves rows, and may move the memory before the commit."""
    head = chain.memory.blocks.head
    try:
        yield
    except BaseException:
        if head is not None and chain.memory.blocks.head is not head:
            with chain.memory.moving:
                chain.read_fork_again()
                chain.memory.reset_to(head)
            with suppress(DatabaseError):  # the next reader catches up then
                blocks.catch_up(chain)
        raise


def moved(chain: EvmChain) -> AcceptedBlock:
    """Move this process's memory to the head in the rows, and notify other processes; call it after the commit."""
    with chain.memory.moving:
        row = stored.head_row(chain.db)
        assert row is not None
        chain.use_chain_id(row.chain_id)
        kept = chain.memory.blocks.by_hash(row.hash)
        head = stored.load_block(chain.db, row.number, chain.format) if kept is None else kept
        chain.memory.reset_to(head)
    chain.memory.pool.changed()
    announce_rewind(chain, head)
    return head


def announce_rewind(chain: EvmChain, head: AcceptedBlock) -> None:
    """Announce that an earlier block is the head again, or that the state of the head was restored."""
    chain.memory.on_rewind()
    chain.events.send(chain.name, notifications.rewound(head.number, head.hash))
