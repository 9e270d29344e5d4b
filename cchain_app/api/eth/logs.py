"""Logs of accepted blocks: the blocks that a filter covers, and the matching logs in them; and polled filters.

Recent blocks are searched in memory, where a bloom filter that does not match ends the search of a block;
older blocks are searched by an index of the rows. Rules and state of polled filters are in `services.poll_filters`.
"""

from typing import Any, Final

from msgspec import Raw

from cchain_app.api import block_tags, wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth import forked
from cchain_app.api.params.logs import LogCriteria
from cchain_app.api.params.values import BlockNumber, Tag
from cchain_app.api.rendered import NO_LOGS, LoopBudget, RenderedLogs, join, render_log
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import bloom_from_bytes
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, logs, pool
from cchain_app.services import poll_filters
from cchain_app.services.poll_filters import FilterKind, FilterNotFound
from jsonrpc.errors import invalid_params
from primitives.evm import Hash
from primitives.hexadecimal import encode_quantity

IN_MEMORY: Final = 256
"""Maximum number of blocks that are searched one by one in memory, before the index is used."""


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
        JsonRpcError: -32602 (on a chain of coreth -32000 if it is upside down), the range cannot be searched.
    """
    if Tag.PENDING in (first, last):
        raise invalid_params("pending logs are not supported")
    begin = block_tags.height_of(rpc, Tag.LATEST if first is None else first)
    end = block_tags.height_of(rpc, Tag.LATEST if last is None else last)
    if begin > end:
        words = "invalid block range params"
        raise server_error(words) if rpc.chain.is_of_coreth else invalid_params(words)
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
        rendered = matching(rpc, block, log_filter)
        count += len(rendered.ends)
        if most and count > most:
            raise logs.TooManyLogs(most)
        if rendered.ends:
            parts.append(rendered.joined)
    return parts, count


def matching(rpc: EvmRpc, block: AcceptedBlock, log_filter: LogFilter) -> RenderedLogs:
    """Return the rendered logs of a block that match, in their order.

    Raises:
        WouldBlock: The block has too many logs for the event loop.
    """
    if not log_filter.may_match(bloom_from_bytes(block.header.logs_bloom)):
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
    recent = []
    for number in range(first, last + 1):
        block = remembered.by_number(number)
        if block is None:
            return None
        recent.append(block)
    return recent


def render_rows(rpc: EvmRpc, rows: list[logs.LogRow]) -> list[bytes]:
    """Return rows as bytes; each part may hold several logs, separated by commas."""
    if rpc.chain.memory.answers is None:
        return [render_log(logs.found_log(row)) for row in rows]
    # Imported here because the module exists only if the crate was built.
    from cchain_app.memory.native import render_log_rows

    return render_log_rows(rows)


def new_filter(rpc: EvmRpc, client: str, criteria: LogCriteria) -> str:
    """eth_newFilter: create a filter for logs that are emitted from now on.

    Unspecified: a filter by block hash has no future logs. As in geth, it is accepted, and
    eth_getFilterLogs returns the logs of that block.

    Raises:
        JsonRpcError: -32602, the range is upside down or `pending`.
    """
    first, last = criteria.first, criteria.last
    if Tag.PENDING in (first, last):
        raise invalid_params("pending logs are not supported")
    if isinstance(first, int) and isinstance(last, int) and first > last:
        raise invalid_params("invalid block range params")
    if criteria.block_hash is not None:
        block = blocks.by_hash(rpc.chain, criteria.block_hash)
        first = last = 0 if block is None else block.number
    return encode_quantity(
        poll_filters.new_log_filter(rpc.chain, client, criteria.log_filter, first, last)
    )


def new_block_filter(rpc: EvmRpc, client: str) -> str:
    """eth_newBlockFilter: create a filter for hashes of new blocks."""
    return encode_quantity(poll_filters.new_block_filter(rpc.chain, client))


def new_pending_transaction_filter(rpc: EvmRpc, client: str, full: bool) -> str:  # noqa: FBT001
    """eth_newPendingTransactionFilter: create a filter for new pending transactions."""
    return encode_quantity(poll_filters.new_pending_filter(rpc.chain, client, full=full))


def get_filter_changes(rpc: EvmRpc, filter_id: int) -> Any:
    """eth_getFilterChanges: the filter's events since the last call, `[]` if there are none.

    Raises:
        FilterNotFound: There is no such filter.
    """
    changes = poll_filters.changes(rpc.chain, filter_id)
    if changes.kind is FilterKind.LOGS:
        return join(map(render_log, changes.logs))
    if changes.full:
        return [
            transaction
            for item in changes.hashes
            if (transaction := _transaction(rpc, item)) is not None
        ]
    return [wire.hexed(block_hash) for block_hash in changes.hashes]


def get_filter_logs(rpc: EvmRpc, filter_id: int) -> Raw:
    """eth_getFilterLogs: the logs in the filter's whole range.

    Raises:
        FilterNotFound: There is no such filter, or it is not a log filter.
    """
    polled = poll_filters.get(rpc.chain, filter_id)
    if polled.kind is not FilterKind.LOGS or polled.log_filter is None:
        raise FilterNotFound
    poll_filters.keep(rpc.chain, filter_id, polled)
    first, last = resolve_range(rpc, _bound(polled.first), _bound(polled.last))
    return join(find(rpc, polled.log_filter, first, last))


def uninstall_filter(rpc: EvmRpc, filter_id: int) -> bool:
    """eth_uninstallFilter: remove a filter, and return whether it existed."""
    return poll_filters.remove(rpc.chain, filter_id)


def _bound(given: int | str | None) -> int | Tag | None:
    return Tag(given) if isinstance(given, str) else given


def _transaction(rpc: EvmRpc, transaction_hash: Hash) -> wire.Json | None:
    """Return a transaction as it was in the pool, even if it is in a block now."""
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is not None:
        return rpc.pool_transaction(found[0].transactions[found[1]])
    waiting = pool.transaction(rpc.chain, transaction_hash)
    return None if waiting is None else rpc.pool_transaction(waiting)
