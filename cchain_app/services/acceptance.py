"""Accepting blocks: the one way in which the chain grows.

Whoever made them, they were executed before, without a lock; they are written under the chain's lock if the
head is still their parent.
"""

from collections.abc import Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import Final, NamedTuple

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import Change
from cchain_app.development.conditions import Conditions
from cchain_app.processing import VerifiedBlock
from cchain_app.store import chain as stored
from cchain_app.store import development, questions
from cchain_app.store import pool as rows
from chaindb import clock
from chaindb.locks import Lock
from chainvm.port import HeadMoved, Written
from primitives.evm import Address, Hash
from primitives.ids import ID


class ByHand(NamedTuple):
    """What was set by hand when a block was built (devnet.md 10)."""

    changes: Sequence[Change]
    """Of the state of its parent, in order."""
    uses_next: bool = False
    """Whether it has anything that was set for one block alone."""
    timestamp: int | None = None
    """Unix seconds that were set for it; the clock goes on from there."""
    signers: Mapping[bytes, Address] = MappingProxyType({})
    """Whose signatures were set on its parent to be."""
    chain_id: int | None = None
    """By which it was executed."""
    conditions: Conditions | None = None
    """What was set for it; None where it was not built here."""


NOTHING: Final = ByHand(())


class SetOtherwise(Exception):
    """Something was set since a block was built that is made by itself: whether there is to be one is asked anew."""


class GoesToPool(Exception):
    """A block was to pass the pool, and what is in it has to go there: others wait, or are at a block, or set it so."""


def head_moved(chain: EvmChain, head: AcceptedBlock) -> bool:
    """Say whether the rows have another head by now."""
    return stored.head_pointer(chain.db) != (head.number, head.hash)


def accept(
    chain: EvmChain,
    verified: Sequence[VerifiedBlock],
    head: AcceptedBlock,
    *,
    unusable: Sequence[Hash],
    written: Written,
    by_hand: ByHand = NOTHING,
    mines: str | None = None,
    passes_pool: bool = False,
) -> None:
    """Accept blocks that follow each other: commit all or nothing, and move this process. `tell` follows.

    Args:
        chain: Which chain.
        verified: The blocks, executed.
        head: The parent of the first.
        unusable: Of the pool, what can never be mined and goes too.
        written: Called for each block in the transaction, when nobody else can write to the chain and
            no block is written yet; what it raises undoes all.
        by_hand: What the first block was built with that was set by hand, where there is anything.
        mines: The blocks are made by themselves, and only while they are made so (`Conditions.mines`).
        passes_pool: Whether its transactions were never in the pool: nobody who waits in it may have been passed by.

    Raises:
        HeadMoved: `head` is not the head any more, or its state, the chain ID or what the block is to have was
            changed by hand since.
        GoesToPool: The pool is to be passed, and may not be.
        SetOtherwise: What was set by hand is something else by now, and the blocks are made by themselves.
    """
    has_others = chain.is_development and chain.node.profile == "production"
    asked = questions.of_acceptance(head.number, has_others=has_others)
    with chain.db.atomic_together():
        if passes_pool:
            chain.db.acquire(Lock.CCHAIN_POOL)
            asked = [*questions.of_passing_pool(chain.db), *asked]
        else:
            chain.db.acquire(Lock.CCHAIN)
        with chain.db.read_ahead(asked):
            if passes_pool:
                _verify_passes(chain)
            if head_moved(chain, head):
                raise HeadMoved
            if chain.is_development:
                _verify_state(chain, head, by_hand)
            if has_others and chain.consensus.decides_alone:
                _verify_conditions(chain, by_hand, mines)
            if by_hand.uses_next:
                _use_up(chain, by_hand)
            for one in verified:
                written(ID(one.block.hash))
        stored.commit(chain.db, verified)
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.remove_mined(chain.db, (tx for one in verified for tx in one.block.transactions))
        rows.remove(chain.db, unusable)
    if by_hand.uses_next:
        chain.memory.conditions.reset()
    chain.memory.pool.changed()
    for one in verified:
        chain.memory.advance(one.block, one.executed.changes)
    chain.last_accepted_at = monotonic()


def tell(chain: EvmChain, verified: Sequence[VerifiedBlock], arrived: Sequence[Hash] = ()) -> None:
    """Tell others of blocks that were accepted.

    It comes last: the event loop's work for subscribers competes with this thread for the interpreter.

    Args:
        chain: Which chain.
        verified: The blocks.
        arrived: Of their transactions those that were never in the pool: who listens is told of them first.
    """
    last = verified[-1].block
    notifications.pending_transactions(chain, arrived)
    notifications.head_accepted(chain, last.number, last.hash)
    for listener in chain.on_accepted:
        listener([one.block for one in verified])


def _verify_passes(chain: EvmChain) -> None:
    """Hold the chain's lock, and see that its next block is asked of nobody else.

    Raises:
        GoesToPool: Somebody has the lock, perhaps for long; or something waits.
    """
    if not (chain.db.try_acquire(Lock.CCHAIN) and rows.is_empty(chain.db)):
        raise GoesToPool


def _verify_conditions(chain: EvmChain, by_hand: ByHand, mines: str | None) -> None:
    """See that what other processes have set is what the block was built by, and that it is to be made.

    Raises:
        SetOtherwise: It is not, and the block is made by itself.
        HeadMoved: It is not, and the block is made by hand: it is to be built anew.
    """
    found = development.conditions(chain.db)
    built_by = found if by_hand.conditions is None else by_hand.conditions
    if found.of_blocks() != built_by.of_blocks() or mines not in (
        None,
        found.mines(chain.node.mining),
    ):
        chain.memory.conditions.reset()
        raise HeadMoved if mines is None else SetOtherwise


def _verify_state(chain: EvmChain, head: AcceptedBlock, by_hand: ByHand) -> None:
    """See that state, signers and chain ID are those that the block was executed with.

    Raises:
        HeadMoved: They were changed by hand since.
    """
    changes, signers = development.set_before(chain.db, head.number + 1)
    if signers != by_hand.signers:
        chain.memory.conditions.reset()  # another process set them, and its word is on the way
        raise HeadMoved
    if changes != len(by_hand.changes):
        raise HeadMoved
    # Where there are other processes, so many may have been undone, and others made.
    if chain.node.profile == "production":
        now = development.changes_before(chain.db, head.number + 1)
        if list(now) != list(by_hand.changes):
            raise HeadMoved
    # A chain with blocks keeps its ID.
    may_differ = head.number == chain.first_number and by_hand.chain_id is not None
    if may_differ and stored.chain_id(chain.db) != by_hand.chain_id:
        raise HeadMoved


def _use_up(chain: EvmChain, by_hand: ByHand) -> None:
    """Forget what was set for the block alone, and let the clock go on from its time."""
    development.set_conditions(chain.db, development.conditions(chain.db).used())
    if by_hand.timestamp is not None:
        clock.show(by_hand.timestamp, least=chain.least_time())
