"""Accepted blocks and their transactions, by number, by hash, or as bytes; and values for the block after the head.

Blocks that are not in memory come from the rows. A process that finds a row above the remembered head has
missed an announcement, and catches up before it answers, so an answer never shows a block that
`eth_blockNumber` does not count yet.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

import msgspec

from cchain_app import models
from cchain_app.blocks.accepted import (
    EMPTY_LIST,
    AcceptedBlock,
    fifth_item,
    fourth_item,
    join_block,
)
from cchain_app.blocks.assembly import BlobFees, blob_fees, blob_fees_at
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import StateReader
from cchain_app.evm.overrides import time_of_next
from cchain_app.feemarket import BlockFees, PaidTip
from cchain_app.foreign.credits import Reward, rewards_of
from cchain_app.memory import FEW
from cchain_app.memory.fees import StoredFees
from cchain_app.pool.queues import BlobMarket
from cchain_app.precompiles.active import NO_STATEFUL, StatefulPrecompiles
from cchain_app.selectors import development
from cchain_app.store import chain as stored
from cchain_app.store import queries
from chaindb import clock
from chaindb.database import Row
from primitives.evm import Hash

_BLOCKS: Final = """
SELECT number, hash, header, ommers, withdrawals, size, payload FROM cchain_app_block
WHERE number >= %s AND number <= %s ORDER BY number
"""
_ENVELOPES: Final = (
    "SELECT id, raw FROM cchain_app_transaction WHERE id >= %s AND id < %s ORDER BY id"
)
_decode_tips: Final = msgspec.json.Decoder(tuple[PaidTip, ...], strict=False).decode
ROWS_AT_ONCE: Final = 256
"""Blocks that are read in one query, without their transactions."""

TransactionPosition = tuple[AcceptedBlock, int]
"""A transaction's block, and its index there."""


class NoGenesis(Exception):
    """The database has no chain yet: `init_node` creates its genesis block."""


def head(chain: EvmChain) -> AcceptedBlock:
    """Return the head as this process sees it.

    Raises:
        NoGenesis: The database has no chain.
    """
    return chain.memory.blocks.head or catch_up(chain)


def catch_up(chain: EvmChain, announced: int = 0) -> AcceptedBlock:
    """Move the memory to the head of the database and return it; the chain's ID is that of the rows afterwards.

    Args:
        chain: The chain.
        announced: The height of the head if it was announced; then the new blocks are read in the first query.

    Raises:
        NoGenesis: The database has no chain.
    """
    # The holder of `moving` must not wait for a database lock, whose holder may be waiting for the head.
    chain.db.send_queued()
    with chain.memory.moving:
        with _reading_to(chain, announced):
            found = _catch_up(chain)
        while found is None:
            found = _catch_up(chain)  # a development chain was rewound while it was read
        return found


@contextmanager
def _reading_to(chain: EvmChain, announced: int) -> Iterator[None]:
    """Prefetch in one query the rows that the body reads if there are new blocks up to a height."""
    seen = chain.memory.blocks.head
    asked = []
    if seen is not None and 0 < announced - seen.number <= FEW:
        asked = [
            queries.head_query(seen.number),
            *queries.missed_queries(seen.number + 1, announced),
        ]
    with chain.db.read_ahead(asked):
        yield


def _catch_up(chain: EvmChain) -> AcceptedBlock | None:
    remembered = chain.memory
    seen = remembered.blocks.head
    found = queries.head_after(chain.db, 0 if seen is None else seen.number)
    if found is None:
        raise NoGenesis
    (number, block_hash, generation, chain_id), hash_at_seen = found
    chain.use_chain_id(chain_id)
    old = seen if generation == remembered.generation else None
    if old is not None and (number, block_hash) == (old.number, old.hash):
        return old
    if old is None or not 0 < number - old.number <= FEW or hash_at_seen != old.hash:
        read = stored.load_blocks(chain.db, number, number, chain.format)
        if not read or read[-1].hash != block_hash:
            return None
        remembered.reset_to(read[-1])
        remembered.generation = generation
        return read[-1]
    with chain.db.read_ahead([*queries.missed_queries(old.number + 1, number)]):
        missed = queries.missed(chain.db, old.number + 1, number, chain.format)
    if not missed.blocks or missed.blocks[-1].hash != block_hash:
        return None
    if missed.changed is None:  # the changes since then are not known, or no longer stored
        remembered.reset_to(missed.blocks[-1])
        return missed.blocks[-1]
    remembered.state.move(number, *missed.changed)
    remembered.conditions.reset()  # the blocks may have used up overrides for the next block
    for new in missed.blocks:
        remembered.follow(new)
    return missed.blocks[-1]


def by_number(chain: EvmChain, number: int) -> AcceptedBlock | None:
    """Return the block at a height; None above the head, and below a fork's first block."""
    remembered = chain.memory.blocks
    version = remembered.version
    if not has_height(chain, number):
        return None
    found = remembered.by_number(number)
    if found is not None:
        remembered.asked.hit()
        return found
    try:
        found = stored.load_block(chain.db, number, chain.format)
    except models.Block.DoesNotExist:  # a development chain was rewound in between
        return None
    remembered.asked.miss()
    remembered.remember_read(found, version)
    return found


def header_only(chain: EvmChain, number: int) -> AcceptedBlock | None:
    """Return the block at a height for its header and hash: its contents may be missing. None as `by_number`.

    It is for calls at old blocks: the contents of a block take longer to read than everything else that a call needs.
    """
    remembered = chain.memory.blocks.by_number(number)
    if remembered is not None or chain.config.stateful:  # results of precompiles depend on contents
        return by_number(chain, number)
    if not has_height(chain, number):
        return None
    row = stored.header_of(chain.db, number)
    if row is None:  # a development chain was rewound in between
        return None
    block_hash, header = row
    return AcceptedBlock(chain.format.decode_header(header), block_hash, 0, (), ())


def has_height(chain: EvmChain, number: int) -> bool:
    """Return whether there is a block at a height, as `by_number`, without reading it."""
    return chain.first_number <= number <= head(chain).number


def height_of(chain: EvmChain, block_hash: Hash) -> int | None:
    """Return the height of the block with this hash, or None if it does not exist; as `by_hash`, without reading it."""
    found = chain.memory.blocks.by_hash(block_hash)
    number = stored.height_of_hash(chain.db, block_hash) if found is None else found.number
    if number is not None and number > head(chain).number:
        catch_up(chain)
    return number if number is not None and has_height(chain, number) else None


def stored_fees(chain: EvmChain, first: int, last: int) -> list[StoredFees]:
    """Return the fees of blocks first to last, which must not be above the head."""
    return chain.memory.fees.of(first, last, partial(_read_fees, chain))


def _read_fees(chain: EvmChain, first: int, last: int) -> list[StoredFees]:
    config, found = chain.config, []
    for number, time, base_fee, gas_used, gas_limit, tips, excess, used in stored.fee_rows(
        chain.db, first, last
    ):
        fees = BlockFees(
            number,
            None if base_fee is None else int(base_fee),
            gas_used,
            gas_limit,
            () if tips is None else _decode_tips(tips),
        )
        blobs = blob_fees_at(number, time, None if excess is None else int(excess), used, config)
        found.append(StoredFees(fees, blobs))
    return found


def blob_fees_of(chain: EvmChain, block: AcceptedBlock) -> BlobFees:
    """Return the price and the use of blob gas in a block."""
    return blob_fees(block.header, chain.config)


def by_hash(chain: EvmChain, block_hash: Hash) -> AcceptedBlock | None:
    """Return the block with this hash, or None if it does not exist."""
    found = chain.memory.blocks.by_hash(block_hash)
    if found is None:
        number = stored.height_of_hash(chain.db, block_hash)
        if number is None:
            return None
        return _at(chain, number, lambda block: block.hash == block_hash)
    chain.memory.blocks.asked.hit()
    return found if found.number <= head(chain).number else None


def find_transaction(chain: EvmChain, transaction_hash: Hash) -> TransactionPosition | None:
    """Return the block that contains a transaction and its index in it, or None."""
    found = chain.memory.blocks.position_of(transaction_hash)
    if found is not None and found[0].number <= head(chain).number:
        chain.memory.blocks.asked.hit()
        return found
    if transaction_hash in chain.memory.transactions:
        return None  # it is pending; polling for its receipt must not cost a database query
    key = (
        chain.db.objects(models.Transaction)
        .filter(hash=transaction_hash)
        .values_list("id", flat=True)
        .first()
    )
    if key is None:
        return None
    number = models.height_of(key)
    index = key - models.row_id(number)

    def has_it(block: AcceptedBlock) -> bool:
        return [transaction.hash for transaction in block.transactions[index : index + 1]] == [
            transaction_hash
        ]

    block = _at(chain, number, has_it)
    return None if block is None else (block, index)


def _at(
    chain: EvmChain, number: int, is_meant: Callable[[AcceptedBlock], bool]
) -> AcceptedBlock | None:
    """Return the block at a height at which a row was found, if it is the expected block.

    It is another block if a development chain was rewound after the row was read, or earlier without this process
    having noticed.
    """
    found = _caught_up(chain, number)
    if found is None or not is_meant(found):
        catch_up(chain)
        found = by_number(chain, number)
    return found if found is not None and is_meant(found) else None


def _caught_up(chain: EvmChain, number: int) -> AcceptedBlock | None:
    if number > head(chain).number:
        catch_up(chain)
    return by_number(chain, number)


def are_made(chain: EvmChain) -> bool:
    """Return whether this node makes blocks on the chain; it makes none on an imported chain, unless configured to."""
    return stored.makes_blocks(chain.db)


def fork_after(chain: EvmChain, head: AcceptedBlock, now: int) -> str:
    """Return the rule set of the block after `head` if it is made now (Unix seconds)."""
    return chain.config.fork_at(head.number + 1, max(head.header.timestamp, now))


def fork_of_next(chain: EvmChain, head: AcceptedBlock) -> str:
    """Return the rule set of the block after `head`, by the node's clock if the time makes a difference."""
    reached = head.header.timestamp
    later = chain.config.may_change_after(head.number + 1, reached)
    return fork_after(chain, head, time_after(chain, head) if later else reached)


def time_after(chain: EvmChain, head: AcceptedBlock) -> int:
    """Return the time of the block after `head` if it is made now, in Unix seconds.

    It is the node's, unless a cheat has set another one; one for the next block alone applies if `head` is the head.
    """
    found, reached = development.conditions(chain), head.header.timestamp
    last = chain.memory.blocks.head
    if last is not None and head.number != last.number:
        found = found.used()
    return time_of_next(reached, clock.cchain_now(), found.of_next_block(reached))


def precompiles_after(chain: EvmChain, head: AcceptedBlock) -> StatefulPrecompiles:
    """Return the stateful precompiles in force in the block after `head`, by the node's clock.

    For the pool, which needs no chain ID of theirs.
    """
    schedule = chain.config.stateful
    if not schedule:
        return NO_STATEFUL
    time = time_after(chain, head)
    return schedule.active_at(time, network_id=chain.node.network_id, blockchain_id=b"")


def base_fee_after(
    chain: EvmChain,
    head: AcceptedBlock,
    now: int | None = None,
    state: StateReader | None = None,
    *,
    fraction: int = 0,
) -> int | None:
    """Return the base fee of the block after `head` if it is made now, in wei; None before London.

    It is the override for the next block, if a cheat has set one and `head` is the head.

    Args:
        chain: The chain.
        head: Its head, the pending block or an undecided one.
        now: The new block's time in Unix seconds; None: `time_after`.
        state: The state after `head`, in which a fee manager may decide; None: the block is not undecided.
        fraction: Milliseconds of the new block's time after `now`.
    """
    time = head.header.timestamp
    rules = chain.rules if state is None else chain.rules.on(state)
    if rules.fees_follow_time:
        time = time_after(chain, head) if now is None else max(time, now)
    by_rules = rules.base_fee_after(head, time, fraction if time == now else 0)
    given = development.conditions(chain).next_base_fee
    if by_rules is None or given is None:
        return by_rules
    last = chain.memory.blocks.head
    return given if last is None or head.number == last.number else by_rules


def blob_market_after(chain: EvmChain, head: AcceptedBlock) -> BlobMarket:
    """Return how many blobs the block after `head` may have, and their price."""
    reached, number = head.header.timestamp, head.number + 1
    later = chain.config.may_change_after(number, reached)
    time = time_after(chain, head) if later else reached
    return BlobMarket(
        chain.rules.blob_base_fee_after(head, time), chain.config.max_blobs_at(number, time)
    )


def blob_base_fee(chain: EvmChain, block: AcceptedBlock) -> int:
    """Return the price of blob gas in a block, in wei; 1 before Cancun."""
    return chain.rules.blob_base_fee(block)


def rewards_in(chain: EvmChain, block: AcceptedBlock) -> list[Reward]:
    """Return the rewards of a proof-of-work block; a block that this node made has none."""
    header = block.header
    if not (header.number and header.difficulty):
        return []
    fork = chain.config.fork_at(header.number, header.timestamp, header.difficulty)
    return rewards_of(header, block.ommers, fork)


class RawBlock(NamedTuple):
    """A block as it is sent to peers."""

    number: int
    hash: Hash
    parent_hash: Hash
    timestamp: int
    """Unix seconds."""
    raw: bytes
    """The whole block as RLP."""


def raw_blocks(
    chain: EvmChain, first: int, last: int, max_bytes: int, *, with_payload: bool = True
) -> list[RawBlock]:
    """Return the accepted blocks from height `first` to `last`, in that order, which may be descending.

    The list ends before the blocks together exceed `max_bytes`, but contains at least the first block if it exists.
    256 blocks or fewer take two statements.

    Args:
        chain: The chain.
        first: Height of the first block of the list.
        last: Height of its last block.
        max_bytes: Limit of the list.
        with_payload: Whether the blocks are those that nodes exchange; without payloads they have Ethereum's layout.
    """
    rows = _rows(chain, first, last, max_bytes)
    if not rows:
        return []
    envelopes = _envelopes(chain, min(rows), max(rows))
    found = []
    for number, row in rows.items():
        read = chain.format.decode_header(row.header)
        raw = join_block(
            row.header,
            envelopes.get(number, ()),
            ommers=row.ommers or EMPTY_LIST,
            withdrawals=fourth_item(read, row.withdrawals or EMPTY_LIST),
            payload=fifth_item(read, row.payload) if with_payload or read.has_version else None,
        )
        found.append(RawBlock(number, row.hash, Hash(read.parent_hash), read.timestamp, raw))
    return found


class _Row(NamedTuple):
    """A block without its transactions."""

    hash: Hash
    header: bytes
    ommers: bytes | None
    withdrawals: bytes | None
    payload: bytes | None


def _rows(chain: EvmChain, first: int, last: int, max_bytes: int) -> dict[int, _Row]:
    """Return as many rows as fit, by height."""
    rows: dict[int, _Row] = {}
    for row in _in_parts(chain, first, last):
        number, block_hash, header, ommers, withdrawals, size, payload = row
        max_bytes -= size + (0 if payload is None else len(payload))
        if max_bytes < 0 and rows:
            break
        rows[number] = _Row(
            Hash(bytes(block_hash)),
            bytes(header),
            _bytes(ommers),
            _bytes(withdrawals),
            _bytes(payload),
        )
    return rows


def _in_parts(chain: EvmChain, first: int, last: int) -> Iterator[Row]:
    """Yield the rows of blocks from height `first` to `last`, in that order, read in parts."""
    if abs(last - first) >= ROWS_AT_ONCE:  # avoids reading parts that have no rows
        lowest, highest = chain.first_number, stored.head_number(chain.db) or 0
        if max(first, last) < lowest or min(first, last) > highest:
            return
        first, last = (min(max(value, lowest), highest) for value in (first, last))
    upwards = first <= last
    step = ROWS_AT_ONCE if upwards else -ROWS_AT_ONCE
    for start in range(first, last + (1 if upwards else -1), step):
        end = min(start + step - 1, last) if upwards else max(start + step + 1, last)
        part = chain.db.rows(_BLOCKS, sorted((start, end)))
        yield from part if upwards else reversed(part)


def _bytes(stored: bytes | memoryview | None) -> bytes | None:
    return None if stored is None else bytes(stored)


def _envelopes(chain: EvmChain, lowest: int, highest: int) -> dict[int, list[bytes]]:
    """Return the signed envelopes of a range of blocks by height."""
    keys = (models.row_id(lowest), models.row_id(highest + 1))
    by_block: dict[int, list[bytes]] = {}
    for key, raw in chain.db.rows(_ENVELOPES, keys):
        by_block.setdefault(models.height_of(key), []).append(bytes(raw))
    return by_block
