"""trace_filter: calls by sender and recipient, in a range of blocks (tracing.md 12).

If calls are stored as rows (NODE_TRACE_INDEX), the rows show which transactions match, and only those are executed
again. Other blocks are executed as a whole, and their number is limited.
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
from cchain_app.selectors.calls import FoundCall, PaidReward, rewards_between
from cchain_app.selectors.tracing import BlockReplay
from cchain_app.services.calls import require_calls
from cchain_app.tracing.calls import CallFilter
from cchain_app.tracing.output import Deadline
from cchain_app.tracing.parity import localized_entry, placed
from jsonrpc.errors import invalid_params

MAX_BLOCKS: Final = 100
"""Maximum number of blocks that are executed to find matching calls."""


class WrittenEntry(NamedTuple):
    """A matching entry as JSON."""

    number: int
    """The number of its block."""
    entry: bytes


Match = FoundCall | WrittenEntry
"""The position of a matching row, or an entry that is rendered already."""


def trace_filter(rpc: EvmRpc, search: TraceSearch) -> Raw:
    """trace_filter: the entries that match, in the order of the chain.

    Unspecified: the limit of 100 blocks does not count blocks whose calls are stored as rows, but it counts blocks whose
    calls were pruned (NODE_HISTORY_CALLS). A range may end above the head. The whole search has the time limit of one
    transaction.

    Raises:
        JsonRpcError: -32602, the range is upside down, or of too many blocks; -32003, the answer is too large;
            -32000, it takes too long.
        IndexBehind: The range is of too many blocks because their calls are not written yet.
        StatePruned: The state before a block that must be executed was pruned.
        CallsPruned: Calls of these blocks were pruned during the search.
    """
    first, last = _range(rpc, search)
    indexed = _indexed(rpc, first, last)
    if last - first + 1 - len(indexed) > MAX_BLOCKS:
        require_calls(rpc.chain, last)
        indexed = _indexed(rpc, first, last)
    if last - first + 1 - len(indexed) > MAX_BLOCKS:
        raise invalid_params(f"Block range too large; currently limited to {MAX_BLOCKS} blocks")
    deadline = Deadline(rpc.chain.settings.trace.timeout)
    found = _found(rpc, search.wanted, range(first, last + 1), indexed, deadline)
    after = min(search.after, sys.maxsize)
    until = None if search.most is None else min(after + search.most, sys.maxsize)
    try:
        limited = islice(_in_time(found, deadline), after, until)
        return Raw(tracing.array(rpc, _rendered(rpc, limited, deadline)))
    except TraceTimedOut as error:
        raise server_error("execution timeout") from error


def _range(rpc: EvmRpc, search: TraceSearch) -> tuple[int, int]:
    """Return the first and the last height of the search, limited to the head; the first may be above the last.

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
    """Return the heights in the range whose calls are stored as rows."""
    written = calls.indexed(rpc.chain)
    start = max(first, written.start)
    return range(start, max(start, min(last + 1, written.stop)))


def _found(
    rpc: EvmRpc, wanted: CallFilter, heights: range, indexed: range, deadline: Deadline
) -> Iterator[Match]:
    """Yield the matches in a range of blocks: for each block its frames, then its proof-of-work rewards."""
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
    """Yield the matching frames: from rows where they exist, and by execution below and above them."""
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
        JsonRpcError: -32003, the answer is too large; -32000, it takes too long.
    """
    recorded = tracing.recording(rpc, frames=True)
    found, bytes_left = [], rpc.chain.settings.trace.bytes
    with tracing.tracing(rpc):
        replay = BlockReplay(rpc.chain, block)
        traces = replay.each(recorded, time_limit=tracing.seconds(rpc), deadline=deadline)
        for position, trace in enumerate(traces):
            place = parity_traces.position_of(block, position)
            for item in placed(trace.frames):
                if wanted.matches(item.frame):
                    entry = tracing.encode(localized_entry(item, place))
                    found.append(WrittenEntry(block.number, entry))
                    bytes_left -= len(entry)
                    if bytes_left < 0:
                        raise TraceTooLarge
    return found


def _in_time(found: Iterable[Match], deadline: Deadline) -> Iterator[Match]:
    """Yield matches until the deadline.

    Raises:
        TraceTimedOut: The time is over.
    """
    for item in found:
        deadline.left()
        yield item


def _rendered(rpc: EvmRpc, found: Iterable[Match], deadline: Deadline) -> Iterator[bytes]:
    """Yield the entries as JSON; the entries of rows are rendered from their transactions' traces."""
    for place, matches in groupby(found, _transaction_of):
        entries = [] if place is None else _entries_at(rpc, *place, deadline)
        for match in matches:
            yield match.entry if isinstance(match, WrittenEntry) else bytes(entries[match.entry])


def _transaction_of(match: Match) -> tuple[int, int] | None:
    return None if isinstance(match, WrittenEntry) else (match.number, match.position)


def _entries_at(rpc: EvmRpc, number: int, position: int, deadline: Deadline) -> list[Raw]:
    block = blocks.by_number(rpc.chain, number)
    assert block is not None, "its calls are rows"
    limit = min(deadline.left(), tracing.seconds(rpc))
    found = parity_traces.entries_of(rpc, block, position, seconds=limit)
    return msgspec.json.decode(found, type=list[Raw])
