"""trace_filter: calls by who calls and who is called, in a range of blocks (tracing.md 12).

As far as calls are rows (NODE_TRACE_INDEX) these say which transactions match, and only those are executed
once more; other blocks are executed whole, and few at once.
"""

import heapq
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from cchain_app.api import block_tags, tracing
from cchain_app.api.errors import server_error
from cchain_app.api.params.tracing import TraceSearch
from cchain_app.api.params.values import Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.api.trace import parity_traces
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import TraceTimedOut, TraceTooLarge
from cchain_app.selectors import blocks, calls
from cchain_app.selectors.calls import FoundCall
from cchain_app.selectors.rewards import PaidReward, rewards_between
from cchain_app.selectors.tracing import BlockReplay
from cchain_app.tracing.calls import CallFilter
from cchain_app.tracing.deadline import Deadline
from cchain_app.tracing.parity import localized_entry, placed
from jsonrpc.errors import invalid_params

MOST_BLOCKS: Final = 100
"""Blocks that are executed to find what matches."""


class WrittenEntry(NamedTuple):
    """An entry that matches, as JSON."""

    number: int
    """Of its block."""
    entry: bytes


Match = FoundCall | WrittenEntry
"""A row's place, or an entry that is written already."""


def trace_filter(rpc: EvmRpc, search: TraceSearch) -> Raw:
    """trace_filter: the entries that match, in the order of the chain.

    Unspecified: blocks whose calls are rows do not count towards the limit of 100 blocks, those do whose calls
    were given up (NODE_HISTORY_CALLS); a range may end above the head; and all of it has the time that one transaction may have at most.

    Raises:
        JsonRpcError: -32602, the range is upside down, or of too many blocks; -32003, there is more than
            an answer may have; -32000, it takes too long.
        StatePruned: A block is to be executed before which the state was given up.
        CallsPruned: Calls of these blocks are given up while they are searched.
    """
    first, last = _range(rpc, search)
    indexed = _indexed(rpc, first, last)
    if last - first + 1 - len(indexed) > MOST_BLOCKS:
        raise invalid_params(f"Block range too large; currently limited to {MOST_BLOCKS} blocks")
    deadline = Deadline(rpc.chain.node.trace_timeout)
    found = _found(rpc, search.wanted, range(first, last + 1), indexed, deadline)
    after = min(search.after, sys.maxsize)
    until = None if search.most is None else min(after + search.most, sys.maxsize)
    try:
        limited = islice(_in_time(found, deadline), after, until)
        return Raw(tracing.array(rpc, _rendered(rpc, limited, deadline)))
    except TraceTimedOut as error:
        raise server_error("execution timeout") from error


def _range(rpc: EvmRpc, search: TraceSearch) -> tuple[int, int]:
    """Return the heights that are searched; the first may be above the last, where that is the head.

    Unspecified: the pending block is not searched, as by eth_getLogs; trace_block has its entries.
    """
    first = block_tags.height_of(rpc, search.first)
    last = block_tags.height_of(rpc, search.last)
    if Tag.PENDING in (search.first, search.last) and rpc.pending.current() is not None:
        raise invalid_params("pending traces are not supported")
    if first > last:
        raise invalid_params("invalid block range params")
    return max(first, rpc.chain.first_number), min(last, blocks.head(rpc.chain).number)


def _indexed(rpc: EvmRpc, first: int, last: int) -> range:
    """Return those of the heights whose calls are rows."""
    written = calls.indexed(rpc.chain)
    start = max(first, written.start)
    return range(start, max(start, min(last + 1, written.stop)))


def _found(
    rpc: EvmRpc, wanted: CallFilter, heights: range, indexed: range, deadline: Deadline
) -> Iterator[Match]:
    """Yield what matches in a range of blocks: of each its frames, and then what it pays for work."""
    rewards = rewards_between(rpc.chain, heights, wanted.authors, deadline)
    return heapq.merge(
        _found_frames(rpc, wanted, heights, indexed, deadline),
        (WrittenEntry(paid.number, _reward(paid)) for paid in rewards),
        key=lambda match: match.number,
    )


def _reward(paid: PaidReward) -> bytes:
    return tracing.encode(parity_traces.reward_of(paid.reward, paid.block, paid.number))


def _found_frames(
    rpc: EvmRpc, wanted: CallFilter, heights: range, indexed: range, deadline: Deadline
) -> Iterator[Match]:
    """Yield the frames that match: at some heights by rows, below and above these by execution."""
    if not indexed:
        yield from _executed_frames(rpc, wanted, heights, deadline)
        return
    yield from _executed_frames(rpc, wanted, range(heights.start, indexed.start), deadline)
    yield from calls.find(rpc.chain, wanted, indexed.start, indexed.stop - 1)
    yield from _executed_frames(rpc, wanted, range(indexed.stop, heights.stop), deadline)


def _executed_frames(
    rpc: EvmRpc, wanted: CallFilter, heights: range, deadline: Deadline
) -> Iterator[Match]:
    for number in range(max(heights.start, 1), heights.stop):
        deadline.left()
        block = blocks.by_number(rpc.chain, number)
        if block is not None and block.transactions:
            yield from _executed(rpc, block, wanted, deadline)


def _executed(
    rpc: EvmRpc, block: AcceptedBlock, wanted: CallFilter, deadline: Deadline
) -> list[WrittenEntry]:
    """Return the entries of a block that match.

    Raises:
        JsonRpcError: -32003, they have more bytes than an answer may have; -32000, it takes too long.
    """
    recorded = tracing.recording(rpc, frames=True)
    found, room = [], rpc.chain.node.trace_bytes
    with tracing.tracing(rpc):
        replay = BlockReplay(rpc.chain, block)
        traces = replay.each(recorded, time_limit=tracing.seconds(rpc), deadline=deadline)
        for position, trace in enumerate(traces):
            place = parity_traces.place_of(block, position)
            for one in placed(trace.frames):
                if wanted.matches(one.frame):
                    entry = tracing.encode(localized_entry(one, place))
                    found.append(WrittenEntry(block.number, entry))
                    room -= len(entry)
                    if room < 0:
                        raise TraceTooLarge
    return found


def _in_time(found: Iterable[Match], deadline: Deadline) -> Iterator[Match]:
    """Yield what was found while there is time.

    Raises:
        TraceTimedOut: There is none left.
    """
    for one in found:
        deadline.left()
        yield one


def _rendered(rpc: EvmRpc, found: Iterable[Match], deadline: Deadline) -> Iterator[bytes]:
    """Yield entries; those of rows from their transactions' traces."""
    for place, matches in groupby(found, _transaction_of):
        entries = [] if place is None else _entries_at(rpc, *place, deadline)
        for one in matches:
            yield one.entry if isinstance(one, WrittenEntry) else bytes(entries[one.entry])


def _transaction_of(match: Match) -> tuple[int, int] | None:
    return None if isinstance(match, WrittenEntry) else (match.number, match.position)


def _entries_at(rpc: EvmRpc, number: int, position: int, deadline: Deadline) -> list[Raw]:
    block = blocks.by_number(rpc.chain, number)
    assert block is not None, "its calls are rows"
    limit = min(deadline.left(), tracing.seconds(rpc))
    found = parity_traces.entries_of(rpc, block, position, seconds=limit)
    return msgspec.json.decode(found, type=list[Raw])
