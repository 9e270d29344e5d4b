"""Logs of accepted blocks: the blocks that a filter covers, and the matching logs in them.

Recent blocks are searched in memory, where a bloom filter that does not match ends the search of a block;
older blocks are searched by an index of the rows.
"""

from typing import Final

from msgspec import Raw

from cchain_app.api import block_tags
from cchain_app.api.errors import server_error
from cchain_app.api.eth import forked
from cchain_app.api.params.logs import LogCriteria
from cchain_app.api.params.values import BlockNumber, Tag
from cchain_app.api.rendered import NO_LOGS, LoopBudget, RenderedLogs, join, render_log
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks import bloom
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, logs
from jsonrpc.errors import invalid_params
from primitives.evm import Hash

IN_MEMORY: Final = 256
"""Most blocks that are searched one by one in memory, before the index is used."""


def get_logs(rpc: EvmRpc, criteria: LogCriteria) -> Raw:
    """eth_getLogs: the matching logs, in chain order.

    Unspecified: `pending` is rejected, as in geth. NODE_LOGS_BLOCK_RANGE and NODE_LOGS_RESULTS
    limit the range and the number of results.

    Raises:
        JsonRpcError: -32602, the range is upside down, too long or beyond the head; -32000, the
            block of the given hash is unknown.
        TooManyLogs: More logs match than an answer may hold.
    """
    if criteria.block_hash is not None:
        number = _require(rpc, criteria.block_hash)
        return join(find(rpc, criteria.log_filter, number, number))
    first, last = resolve_range(rpc, criteria.first, criteria.last)
    return join(find(rpc, criteria.log_filter, first, last))


def resolve_range(
    rpc: EvmRpc, first: BlockNumber | None, last: BlockNumber | None
) -> tuple[int, int]:
    """Return the heights of a filter's range; an omitted bound means the head.

    Raises:
        JsonRpcError: -32602, the range cannot be searched.
    """
    if Tag.PENDING in (first, last):
        raise invalid_params("pending logs are not supported")
    begin = block_tags.height_of(rpc, Tag.LATEST if first is None else first)
    end = block_tags.height_of(rpc, Tag.LATEST if last is None else last)
    if begin > end:
        raise invalid_params("invalid block range params")
    if end > blocks.head(rpc.chain).number:
        raise invalid_params("block range extends beyond current head block")
    most = rpc.chain.settings.logs_block_range
    if most and end - begin > most:
        raise invalid_params(f"exceed maximum block range {most}")
    return begin, end


def find(rpc: EvmRpc, log_filter: LogFilter, first: int, last: int) -> list[bytes]:
    """Return the rendered logs of blocks first to last that match, in chain order.

    Each part may hold several logs, separated by commas.

    Raises:
        TooManyLogs: More logs match than NODE_LOGS_RESULTS.
        UpstreamError: Upstream does not return its logs.
        WouldBlock: The search takes too long for the event loop.
    """
    fork = rpc.chain.fork
    if fork is None or first > fork.number:
        return _find_own(rpc, log_filter, first, last)[0]
    pin = min(last, fork.number)
    upstream, upstream_count = forked.logs_up_to_pin(rpc, log_filter, first, pin)
    own, count = _find_own(rpc, log_filter, pin + 1, last) if last > pin else ([], 0)
    most = rpc.chain.settings.logs_results
    if most and upstream_count + count > most:
        raise logs.TooManyLogs(most)
    return [bytes(upstream), *own] if upstream_count else own


def _find_own(rpc: EvmRpc, log_filter: LogFilter, first: int, last: int) -> tuple[list[bytes], int]:
    """Return the matching logs of this chain's own blocks as in `find`, and their number."""
    most = rpc.chain.settings.logs_results
    recent = _in_memory(rpc, first, last)
    if recent is None:
        rows = logs.find_rows(rpc.chain, log_filter, first, last, most)
        return render_rows(rpc, rows), len(rows)
    parts: list[bytes] = []
    count = 0
    patience = LoopBudget()
    for block in recent:
        patience.check()
        found = matching(rpc, block, log_filter)
        count += len(found.ends)
        if most and count > most:
            raise logs.TooManyLogs(most)
        if found.ends:
            parts.append(found.joined)
    return parts, count


def matching(rpc: EvmRpc, block: AcceptedBlock, log_filter: LogFilter) -> RenderedLogs:
    """Return the rendered logs of a block that match, in their order.

    Raises:
        WouldBlock: The block has too many logs for the event loop.
    """
    if not log_filter.may_match(bloom.from_bytes(block.header.logs_bloom)):
        return NO_LOGS
    return rpc.rendered.of(block).matching(log_filter)


def _require(rpc: EvmRpc, block_hash: Hash) -> int:
    """Return the height of a block; on a fork, upstream's blocks up to the fork block count too."""
    block = blocks.by_hash(rpc.chain, block_hash)
    number = forked.height_of_hash(rpc, block_hash) if block is None else block.number
    if number is None:
        raise server_error("unknown block")
    return number


def _in_memory(rpc: EvmRpc, first: int, last: int) -> list[AcceptedBlock] | None:
    """Return the blocks of a range if this process has all of them in memory, else None."""
    if last - first >= IN_MEMORY:
        return None
    remembered = rpc.chain.memory.blocks
    found = []
    for number in range(first, last + 1):
        block = remembered.by_number(number)
        if block is None:
            return None
        found.append(block)
    return found


def render_rows(rpc: EvmRpc, rows: list[logs.LogRow]) -> list[bytes]:
    """Return rows as bytes; each part may hold several logs, separated by commas."""
    if rpc.chain.memory.answers is None:
        return [render_log(logs.found_log(row)) for row in rows]
    # Imported here because the module exists only if the crate was built.
    from cchain_app.memory.native import render_log_rows

    return render_log_rows(rows)
