"""Combined queries for blocks and for the pool, which are then sent together (`Database.read_ahead`).

`missed` reads new blocks and their changes for a process that follows the head.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS
from cchain_app.memory import PoolMemory
from cchain_app.models import row_id
from cchain_app.rules.port import BlockFormat
from cchain_app.store import atomic, chain, development, evm_state, history, pool
from chaindb import generation
from chaindb.database import Database, SqlQuery
from chaindb.locks import Lock
from primitives.evm import Address, Hash, Slot

_HEAD_AFTER: Final = chain.HEAD_ROW.format(
    more=", (SELECT hash FROM cchain_app_block WHERE number = %s)"
)
# Without an upper bound PostgreSQL expects a third of a table that has no statistics, and reads the whole table.
_ACCOUNTS: Final = "SELECT address FROM cchain_app_accountchange WHERE id >= %s AND id <= %s"
_SLOTS: Final = "SELECT key FROM cchain_app_storagechange WHERE id >= %s AND id <= %s"
_LAST_ID: Final = 2**63 - 1
# Changes before the first missed block are recorded with the block before it, so the queries above do not find them.
_BY_HAND: Final = "SELECT 1 FROM cchain_app_developmentchange WHERE id >= %s AND id < %s LIMIT 1"

Changed = tuple[set[Address], set[tuple[Address, Slot]]]
"""Accounts and slots whose values have changed."""


class MissedBlocks(NamedTuple):
    """Blocks that a process has not seen yet."""

    blocks: list[AcceptedBlock]
    """In order; empty if the chain was rewound meanwhile."""
    changed: Changed | None
    """Changes by these and later blocks; None: history was pruned (NODE_HISTORY_STATE), or there were manual changes."""


def head_query(number: int) -> SqlQuery:
    """Return the query of `head_after`."""
    return _HEAD_AFTER, (number,)


def head_after(db: Database, number: int) -> tuple[chain.HeadRow, Hash | None] | None:
    """Return the head's row, and the hash of the block at a height seen before, or None if that block is gone.

    Return None if there is no genesis block.
    """
    row = db.row(*head_query(number))
    if row is None:
        return None
    *head, seen = row
    return chain.read_head(head), None if seen is None else Hash(bytes(seen))


def missed_queries(first: int, last: int) -> list[SqlQuery]:
    """Return the queries of `missed`."""
    since = (row_id(first),)
    return [
        *chain.block_queries(first, last),
        (_ACCOUNTS, (*since, _LAST_ID)),
        (_SLOTS, (*since, _LAST_ID)),
        history.FIRST_STATE_QUERY,
        (_BY_HAND, (*since, row_id(last + 1))),
    ]


def missed(db: Database, first: int, last: int, block_format: BlockFormat) -> MissedBlocks:
    """Return the blocks from height `first` to `last` and their changes."""
    *blocks, accounts, slots, kept, edits = (
        db.rows(*missed_query) for missed_query in missed_queries(first, last)
    )
    changed = (
        {Address(bytes(address)) for (address,) in accounts},
        {(Address(bytes(key[:20])), Slot(bytes(key[20:]))) for (key,) in slots},
    )
    is_known = first - 1 >= history.read_first_state(kept) and not edits
    return MissedBlocks(chain.read_blocks(blocks, block_format), changed if is_known else None)


def of_building(head: int, memory: PoolMemory, *, is_development: bool) -> list[SqlQuery]:
    """Return the queries for building a block from the pool on the block at height `head`, if that is still the head."""
    return [
        pool.ANY_QUERY,
        pool.entries_query(memory),
        atomic.BEST_QUERY,
        # After the pool: a transaction that was sent after an override was set is never in a block without it.
        *_of_conditions(is_development=is_development),
        *_of_child(head),
    ]


def of_automine(head: int, *, is_development: bool) -> list[SqlQuery]:
    """Return the queries for building a block from arriving transactions, if the pool is empty."""
    return [
        pool.EXTENT_QUERY,
        *_of_conditions(is_development=is_development),
        *_of_child(head),
    ]


def _of_child(head: int) -> list[SqlQuery]:
    return [
        generation.QUERY,
        head_query(head),
        development.changes_query(head + 1),
        evm_state.slot_query(HISTORY_STORAGE_ADDRESS, _slot_of_parent(head), head),
    ]


def _slot_of_parent(head: int) -> Slot:
    """Return the slot in which the block after a height stores its parent's hash (EIP-2935)."""
    return Slot((head % HISTORY_SERVE_WINDOW).to_bytes(32, "big"))


def of_following(seen: AcceptedBlock | None) -> list[SqlQuery]:
    """Return the first query for moving the memory to the head; its result is unused once another head was seen."""
    return [] if seen is None else [head_query(seen.number)]


def of_acceptance(head: int) -> list[SqlQuery]:
    """Return the queries under the chain's lock before the block after height `head` is written."""
    return [chain.HEAD_ID_QUERY, development.set_query(head + 1), generation.QUERY]


def of_passing_pool(db: Database) -> list[SqlQuery]:
    """Return the earlier queries, under the pool's lock only, if the block's transactions were never in the pool."""
    return [*db.lock_queries(Lock.CCHAIN), pool.ANY_QUERY]


def _of_conditions(*, is_development: bool) -> list[SqlQuery]:
    """Return the queries for the overrides; none if there are no development methods."""
    return development.conditions_queries() if is_development else []


def of_senders(db: Database, senders: Iterable[Address]) -> list[SqlQuery]:
    """Return the queries for the pending transactions of some senders, and for the head, which is read after them."""
    return [*pool.queries_for_senders(db, senders), chain.HEAD_ID_QUERY]


def of_admission(
    db: Database, accounts: Iterable[Address], *, is_development: bool
) -> list[SqlQuery]:
    """Return the queries under the pool's lock before transactions of some senders are admitted on the head."""
    return [
        pool.EXTENT_QUERY,
        *_of_conditions(is_development=is_development),
        *evm_state.accounts_queries(db, accounts),
        chain.HEAD_ID_QUERY,
    ]
