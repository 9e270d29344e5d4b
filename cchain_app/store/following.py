"""Reads for a process that follows the head: whether there are new blocks, and their changes."""

from typing import Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.models import row_id
from cchain_app.rules.port import BlockFormat
from cchain_app.store import chain, history
from chaindb.database import Database, Question
from primitives.evm import Address, Hash, Slot

_HEAD_AFTER: Final = chain.HEAD_ROW.format(
    more=", (SELECT hash FROM cchain_app_block WHERE number = %s)"
)
_ACCOUNTS: Final = "SELECT address FROM cchain_app_accountchange WHERE id >= %s"
_SLOTS: Final = "SELECT key FROM cchain_app_storagechange WHERE id >= %s"
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


def head_question(number: int) -> Question:
    """Return the query of `head_after`."""
    return _HEAD_AFTER, (number,)


def head_after(db: Database, number: int) -> tuple[chain.HeadRow, Hash | None] | None:
    """Return the head's row, and the hash of the block at a height seen before, or None if that block is gone.

    Return None if there is no genesis block.
    """
    found = db.row(*head_question(number))
    if found is None:
        return None
    *head, seen = found
    return chain.read_head(head), None if seen is None else Hash(bytes(seen))


def missed_questions(first: int, last: int) -> list[Question]:
    """Return the queries of `missed`."""
    since = (row_id(first),)
    return [
        *chain.block_questions(first, last),
        (_ACCOUNTS, since),
        (_SLOTS, since),
        history.FIRST_STATE_QUESTION,
        (_BY_HAND, (*since, row_id(last + 1))),
    ]


def missed(db: Database, first: int, last: int, block_format: BlockFormat) -> MissedBlocks:
    """Return the blocks from height `first` to `last` and their changes."""
    *blocks, accounts, slots, kept, by_hand = (
        db.rows(*missed_question) for missed_question in missed_questions(first, last)
    )
    changed = (
        {Address(bytes(address)) for (address,) in accounts},
        {(Address(bytes(key[:20])), Slot(bytes(key[20:]))) for (key,) in slots},
    )
    is_known = first - 1 >= history.read_first_state(kept) and not by_hand
    return MissedBlocks(chain.read_blocks(blocks, block_format), changed if is_known else None)
