"""Calls inside transactions that are stored as rows: searches by address, and the progress of writing them.

Proof-of-work rewards of a range of blocks, which trace_filter returns beside calls, come from the blocks themselves;
`blocks.rewards_in` has those of one block.
"""

from collections.abc import Iterator, Sequence, Set
from typing import Final, NamedTuple

from django.db.models import QuerySet

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock, decode_ommers
from cchain_app.chain import EvmChain
from cchain_app.evm import failures
from cchain_app.foreign.credits import Reward, rewards_of
from cchain_app.selectors import blocks
from cchain_app.store import calls as call_rows
from cchain_app.store import chain as stored
from cchain_app.store import history
from cchain_app.store.calls import CallIndexProgress
from cchain_app.tracing.calls import CallFilter
from cchain_app.tracing.output import Deadline
from chaindb.fields import height_of, row_id
from chaindb.indexing import progress_text
from primitives import rlp
from primitives.counting import counted
from primitives.evm import Address, Hash

_NEXT: Final = """
SELECT number FROM cchain_app_block
WHERE number >= %s AND number <= %s AND transaction_count > 0 ORDER BY number LIMIT 1
"""
_GAS_USED: Final = """
SELECT number, gas_used FROM cchain_app_block
WHERE number >= %s AND number <= %s AND transaction_count > 0 ORDER BY number
"""

BLOCKS_AT_ONCE: Final = 16
"""Maximum number of consecutive blocks that are read together."""

GAS_AT_ONCE: Final = 16_000_000
"""Maximum gas of blocks that are read together, unless a single block has more. It limits the state they can change."""

_PAGE: Final = 1000
"""Maximum number of calls that one statement returns."""

# In each branch, one index of the addresses is in the order of the chain.
_BRANCH: Final = """
SELECT * FROM (
    SELECT transaction_id, "index" FROM cchain_app_call
    WHERE {condition} transaction_id < %s AND (transaction_id, "index") > (%s, %s)
    ORDER BY transaction_id, "index" LIMIT %s
) found
"""
_BRANCHES: Final = '{branches} ORDER BY transaction_id, "index" LIMIT %s'
_SENDER: Final = "sender = %s AND "
_RECIPIENT: Final = f"\"to\" {{recipients}} AND NOT (creates AND error IS NOT NULL AND error <> '{failures.REVERTED}') AND "

_TAKES_PART: Final = """
SELECT * FROM (
    SELECT DISTINCT {key} AS key FROM {table}
    WHERE {column} = %s AND {key} >= %s AND {key} < %s ORDER BY key {order} LIMIT %s
) found
"""
_PARTS: Final = (
    ("cchain_app_call", "sender", "transaction_id"),
    ("cchain_app_call", '"to"', "transaction_id"),
    ("cchain_app_transaction", "sender", "id"),
    ("cchain_app_transaction", '"to"', "id"),
    ("cchain_app_receipt", "contract_address", "transaction_id"),
)

_STATE: Final = """
SELECT (SELECT next_call FROM cchain_app_callprogress WHERE id = 1),
  (SELECT number FROM cchain_app_block ORDER BY number DESC LIMIT 1)
"""
_CREATION: Final = """
SELECT transaction_id, sender FROM cchain_app_call
WHERE "to" = %s AND creates AND succeeded ORDER BY transaction_id DESC, "index" DESC LIMIT 1
"""


class FoundCall(NamedTuple):
    """The position of a call."""

    number: int
    """The number of its block."""
    position: int
    """The index of its transaction in the block."""
    entry: int
    """Its index among the entries of the transaction."""


class Creation(NamedTuple):
    """The creator of a contract, and the transaction that created it."""

    transaction: int
    """The transaction's key."""
    creator: Address
    """The account or contract that ran the creation."""


def inner_calls(chain: EvmChain) -> QuerySet[models.Call]:
    """Return the calls that are not a transaction's own frame.

    The condition has no parameter, because only then do planners find that it is the condition of indexes: an account
    may have sent millions of transactions without an internal call.
    """
    rows = chain.db.objects(models.Call)
    return rows.extra(where=['"cchain_app_call"."depth" > 0'])


def progress(chain: EvmChain) -> CallIndexProgress | None:
    """Return the progress of writing call rows; None if it never began."""
    return call_rows.progress(chain.db)


def how_far(chain: EvmChain) -> str:
    """Return a description of the progress of writing call rows."""
    written = progress(chain)
    if written is None:
        return "no rows: NODE_TRACE_INDEX was never on"
    words = progress_text(written.height, stored.head_number(chain.db) or 0, written.first)
    missing = written.unrecorded
    return f"{words}, {counted(missing, 'transaction')} not recorded" if missing else words


class CallIndexState(NamedTuple):
    """How far calls are written, beside the head of the database."""

    height: int
    """The height up to which all calls are rows; -1 if writing them never began."""
    head: int
    """The height of the head; -1 before genesis."""


def state_of_index(chain: EvmChain) -> CallIndexState:
    """Return the progress of writing call rows and the head, by one statement."""
    row = chain.db.row(_STATE, [])
    assert row is not None
    return CallIndexState(
        -1 if row[0] is None else height_of(row[0]) - 1, -1 if row[1] is None else row[1]
    )


def indexed_height(chain: EvmChain) -> int:
    """Return the height up to which all calls are rows; -1 if writing them never began."""
    found = progress(chain)
    return -1 if found is None else found.height


def indexed(chain: EvmChain) -> range:
    """Return the heights whose calls are all rows; earlier calls were pruned (NODE_HISTORY_CALLS)."""
    found = progress(chain)
    return range(0) if found is None else range(found.first, max(found.first, found.height + 1))


def next_blocks(chain: EvmChain, first: int, last: int) -> Sequence[AcceptedBlock]:
    """Return the next consecutive blocks with transactions between first and last; empty if there are none.

    The blocks are not put into memory, because reading every block would evict all others.
    """
    heights = _next_heights(chain, first, last)
    if not heights:
        return []
    kept = [chain.memory.blocks.by_number(number) for number in heights]
    found = [block for block in kept if block is not None]
    return (
        found
        if len(found) == len(kept)
        else stored.load_blocks(chain.db, heights[0], heights[-1], chain.format)
    )


def _next_heights(chain: EvmChain, first: int, last: int) -> list[int]:
    row = chain.db.row(_NEXT, [first, last])
    if row is None:
        return []
    heights: list[int] = []
    gas, first = 0, row[0]
    last = min(last, first + BLOCKS_AT_ONCE - 1)
    for number, gas_used in chain.db.rows(_GAS_USED, [first, last]):
        gas += gas_used
        if heights and (number != heights[-1] + 1 or gas > GAS_AT_ONCE):
            break
        heights.append(number)
    return heights


def find(chain: EvmChain, wanted: CallFilter, first: int, last: int) -> Iterator[FoundCall]:
    """Yield the calls of blocks first to last that match and are stored as rows, in chain order.

    They are read in parts, so a caller that stops early does not read them all.

    Raises:
        CallsPruned: Calls of these blocks were pruned during the search.
    """
    conditions = list(_conditions(wanted))
    branches = " UNION ".join(_BRANCH.format(condition=text) for text, _ in conditions)
    statement = _BRANCHES.format(branches=branches)
    after, before = (row_id(first) - 1, 0), row_id(last + 1)
    while True:
        params = [
            param for _, own in conditions for param in (*own, before, *after, _PAGE)
        ]  # fmt: skip
        matches = chain.db.rows(statement, [*params, _PAGE])
        if first < history.first_call(chain.db):
            raise history.CallsPruned(first)
        for key, index in matches:
            number = height_of(key)
            yield FoundCall(number, key - row_id(number), index)
        if len(matches) < _PAGE:
            return
        after = matches[-1]


def _conditions(wanted: CallFilter) -> Iterator[tuple[str, list[Address]]]:
    """Yield the condition of each branch of a search, and its parameters."""
    senders, recipients = sorted(wanted.senders), sorted(wanted.recipients)
    if not senders and not recipients:
        yield "", []
    elif wanted.intersection and senders and recipients:
        marks = ", ".join(["%s"] * len(recipients))
        called = _RECIPIENT.format(recipients=f"IN ({marks})")
        yield from ((_SENDER + called, [sender, *recipients]) for sender in senders)
    else:
        yield from ((_SENDER, [sender]) for sender in senders)
        called = _RECIPIENT.format(recipients="= %s")
        yield from ((called, [recipient]) for recipient in recipients)


def transactions_of(
    chain: EvmChain, address: Address, first: int, before: int, most: int, *, newest: bool
) -> list[int]:
    """Return the keys of transactions in which an address takes part, the newest or the oldest of them.

    The address is the sender, the recipient or the created contract of a transaction or, where calls are rows, of
    one of its frames.

    Args:
        chain: The chain.
        address: The address of the account.
        first: The lowest key of the range.
        before: The lowest key above the range.
        most: Maximum number of keys to return.
        newest: Whether to return the highest keys, in descending order; else the lowest, in ascending order.
    """
    order = "DESC" if newest else "ASC"
    branches = [
        _TAKES_PART.format(key=key, table=table, column=column, order=order)
        for table, column, key in _PARTS
    ]
    statement = f"{' UNION '.join(branches)} ORDER BY key {order} LIMIT %s"
    params = [address, first, before, most] * len(branches)
    return [int(key) for (key,) in chain.db.rows(statement, [*params, most])]


def creation_of(chain: EvmChain, created: Address) -> Creation | None:
    """Return the last creation of a contract; None if no row contains it."""
    row = chain.db.row(_CREATION, [created])
    return None if row is None else Creation(row[0], Address(bytes(row[1])))


HEIGHTS_AT_ONCE: Final = 2_000
"""Blocks that are searched between two checks of the deadline."""

_ROWS: Final = """
SELECT number, hash, header, ommers FROM cchain_app_block
WHERE number >= %s AND number < %s {condition} ORDER BY number
"""
_MINED_BY: Final = "AND (miner IN ({marks}) OR ommers IS NOT NULL)"


class PaidReward(NamedTuple):
    """A reward, and its block."""

    number: int
    block: Hash
    reward: Reward


def rewards_between(
    chain: EvmChain, heights: range, authors: Set[Address] | None, deadline: Deadline
) -> Iterator[PaidReward]:
    """Yield the proof-of-work rewards of blocks, in the order of the chain; blocks since the Merge have none.

    Args:
        chain: The chain.
        heights: The heights of the blocks, none above the head.
        authors: The recipients to search for; None for any.
        deadline: When to stop.

    Raises:
        TraceTimedOut: The deadline has passed.
    """
    if not heights or (authors is not None and not authors):
        return
    first = blocks.by_number(chain, max(heights.start, 1))
    if first is None or not blocks.rewards_in(chain, first):
        return
    known = sorted(authors or ())
    condition = _MINED_BY.format(marks=", ".join(["%s"] * len(known))) if known else ""
    statement = _ROWS.format(condition=condition)
    for start in range(first.number, heights.stop, HEIGHTS_AT_ONCE):
        deadline.left()
        stop = min(start + HEIGHTS_AT_ONCE, heights.stop)
        for number, block_hash, header, ommers in chain.db.rows(statement, [start, stop, *known]):
            found = _rewards(chain, bytes(header), ommers)
            if not found:
                return
            for reward in found:
                if authors is None or reward.author in authors:
                    yield PaidReward(number, Hash(bytes(block_hash)), reward)


def _rewards(chain: EvmChain, encoded: bytes, ommers: bytes | None) -> list[Reward]:
    header = chain.format.decode_header(encoded)
    if not header.difficulty:
        return []
    fork = chain.config.fork_at(header.number, header.timestamp, header.difficulty)
    uncles = () if ommers is None else decode_ommers(rlp.read_only_item(bytes(ommers)))
    return rewards_of(header, uncles, fork)
