"""JSON-RPC methods of polled filters; rules and state are in `services.poll_filters`."""

from typing import Any

from msgspec import Raw

from cchain_app.api import wire
from cchain_app.api.eth import logs as eth_logs
from cchain_app.api.params.logs import LogCriteria
from cchain_app.api.params.values import Tag
from cchain_app.api.rendered import join, render_log
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import blocks, pool
from cchain_app.services import poll_filters
from cchain_app.services.poll_filters import FilterKind, FilterNotFound
from jsonrpc.errors import invalid_params
from primitives.evm import Hash
from primitives.hexadecimal import encode_quantity


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
        return [found for item in changes.hashes if (found := _transaction(rpc, item)) is not None]
    return [wire.hexed(block_hash) for block_hash in changes.hashes]


def get_filter_logs(rpc: EvmRpc, filter_id: int) -> Raw:
    """eth_getFilterLogs: the logs in the filter's whole range.

    Raises:
        FilterNotFound: There is no such filter, or it is not a log filter.
    """
    found = poll_filters.get(rpc.chain, filter_id)
    if found.kind is not FilterKind.LOGS or found.log_filter is None:
        raise FilterNotFound
    poll_filters.keep(rpc.chain, filter_id, found)
    first, last = eth_logs.resolve_range(rpc, _bound(found.first), _bound(found.last))
    return join(eth_logs.find(rpc, found.log_filter, first, last))


def uninstall_filter(rpc: EvmRpc, filter_id: int) -> bool:
    """eth_uninstallFilter: remove a filter, and return whether it existed."""
    return poll_filters.remove(rpc.chain, filter_id)


def _bound(given: int | str | None) -> int | Tag | None:
    return Tag(given) if isinstance(given, str) else given


def _transaction(rpc: EvmRpc, transaction_hash: Hash) -> wire.Json | None:
    """Return a transaction as it was in the pool, even if it is in a block now."""
    place = blocks.find_transaction(rpc.chain, transaction_hash)
    if place is not None:
        return wire.waiting_transaction(place[0].transactions[place[1]])
    waiting = pool.transaction(rpc.chain, transaction_hash)
    return None if waiting is None else wire.waiting_transaction(waiting)
