"""Accepts blocks: the only way in which the chain grows.

Blocks have been executed before, without a lock, regardless of which node built them. They are written under the
chain's lock if the head is still their parent.
"""

from collections.abc import Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import Final, NamedTuple

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import StateEdit
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.processing import VerifiedBlock
from cchain_app.services import atomic
from cchain_app.store import chain as stored
from cchain_app.store import coreth, development, queries, warp
from cchain_app.store import pool as pool_rows
from chaindb import clock
from chaindb.locks import Lock
from chainvm.port import HeadMoved, Written
from primitives.evm import Address, Hash
from primitives.ids import ID


class BlockCheats(NamedTuple):
    """The manual changes and overrides with which a block was built (devnet.md 10)."""

    changes: Sequence[StateEdit]
    """Changes of its parent's state, in order."""
    uses_next: bool = False
    """Whether the block uses an override for one block only."""
    timestamp: int | None = None
    """The override of its time in Unix seconds; the clock continues from there."""
    signers: Mapping[bytes, Address] = MappingProxyType({})
    """The signers that were set for signatures by the time of its parent."""
    chain_id: int | None = None
    """The chain ID with which it was executed."""


NOTHING: Final = BlockCheats(())


class DirectBlockRefused(Exception):
    """The transactions cannot be mined directly: others are pending, or another process holds the lock of the chain."""


def head_moved(chain: EvmChain, head: AcceptedBlock) -> bool:
    """Return whether the head in the database is another one by now."""
    return stored.head_id(chain.db) != (head.number, head.hash)


def accept(
    chain: EvmChain,
    verified: Sequence[VerifiedBlock],
    head: AcceptedBlock,
    *,
    unusable: Sequence[Hash],
    written: Written,
    cheats: BlockCheats = NOTHING,
    bypasses_pool: bool = False,
) -> None:
    """Accept consecutive blocks: commit all or none, and move this process's memory. `announce` follows.

    Args:
        chain: The chain.
        verified: The executed blocks.
        head: The parent of the first block.
        unusable: Transactions of the pool that can never be mined, to be removed as well.
        written: Called for each block within the transaction, when no other process can write to the chain and
            no block is written yet; an exception rolls everything back.
        cheats: The manual changes and overrides with which the first block was built.
        bypasses_pool: Whether its transactions were never in the pool; then no pending transaction may be skipped.

    Raises:
        HeadMoved: `head` is no longer the head, or its state, its signers or the chain ID were changed manually since.
        DirectBlockRefused: The transactions may not bypass the pool.
    """
    asked = queries.of_acceptance(head.number)
    with chain.db.atomic_together():
        if bypasses_pool:
            chain.db.acquire(Lock.CCHAIN_POOL)
            asked = [*queries.of_passing_pool(chain.db), *asked]
        else:
            chain.db.acquire(Lock.CCHAIN)
        with chain.db.read_ahead(asked):
            if bypasses_pool:
                _verify_passes(chain)
            if head_moved(chain, head):
                raise HeadMoved
            if chain.is_development:
                _verify_state(chain, head, cheats)
            if cheats.uses_next:
                _use_up(chain, cheats)
            for other in verified:
                written(ID(other.block.hash))
        stored.commit(chain.db, verified, keeps_tries=chain.keeps_tries)
        if schedule := chain.config.stateful:
            # Before the warp precompile begins, its address may have any code, which can write the same logs.
            sending = (
                one.block
                for one in verified
                if schedule.config_at(PrecompileKey.WARP, one.block.header.timestamp) is not None
            )
            warp.commit(chain.db, sending)
        if upgrades := chain.genesis.upgrades:
            coreth.commit(chain.db, [one.block for one in verified], upgrades)
        moved = atomic.write(chain, verified)
        chain.db.acquire(Lock.CCHAIN_POOL)
        atomic.leave_pool(chain, moved)
        pool_rows.remove_mined(
            chain.db, (tx for item in verified for tx in item.block.transactions)
        )
        pool_rows.remove(chain.db, unusable)
    if cheats.uses_next:
        chain.memory.conditions.reset()
    chain.memory.pool.changed()
    for entry in verified:
        chain.memory.advance(entry.block, entry.executed.changes)
    chain.last_accepted_at = monotonic()


def announce(
    chain: EvmChain, verified: Sequence[VerifiedBlock], arrived: Sequence[Hash] = ()
) -> None:
    """Announce accepted blocks to listeners and subscribers.

    Called last, because the event loop's work for subscribers competes with this thread for the interpreter.

    Args:
        chain: The chain.
        verified: The blocks.
        arrived: Those of their transactions that were never in the pool; subscribers are notified of them first.
    """
    last = verified[-1].block
    if arrived:
        chain.events.send(chain.name, notifications.pending_transactions(arrived))
    chain.building.accepted(last.number)
    chain.events.send(chain.name, notifications.head_accepted(last.number, last.hash))
    for listener in chain.on_accepted:
        listener([item.block for item in verified])


def _verify_passes(chain: EvmChain) -> None:
    """Acquire the chain's lock and check that no transaction is pending.

    Raises:
        DirectBlockRefused: The lock is held, perhaps for a long time, or there are pending transactions.
    """
    if not (chain.db.try_acquire(Lock.CCHAIN) and pool_rows.is_empty(chain.db)):
        raise DirectBlockRefused


def _verify_state(chain: EvmChain, head: AcceptedBlock, cheats: BlockCheats) -> None:
    """Check that the block was executed with the current state, signers and chain ID.

    Raises:
        HeadMoved: They were changed manually since.
    """
    changes, signers = development.set_before(chain.db, head.number + 1)
    if signers != cheats.signers:
        chain.memory.conditions.reset()
        raise HeadMoved
    if changes != len(cheats.changes):
        raise HeadMoved
    # A chain with blocks keeps its ID.
    may_differ = head.number == chain.first_number and cheats.chain_id is not None
    if may_differ and stored.chain_id(chain.db) != cheats.chain_id:
        raise HeadMoved


def _use_up(chain: EvmChain, cheats: BlockCheats) -> None:
    """Remove the overrides for this block only, and let the clock continue from the block's time."""
    development.set_conditions(chain.db, development.conditions(chain.db).used())
    if cheats.timestamp is not None:
        clock.show(cheats.timestamp, minimum=chain.least_time())
