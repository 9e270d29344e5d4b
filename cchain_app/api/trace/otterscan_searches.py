"""Otterscan's searches: the transactions of an account, and a contract's creator (tracing.md 13)."""

from collections.abc import Sequence
from typing import Final

from cchain_app.api import tracing, wire
from cchain_app.api.rpc import EvmRpc
from cchain_app.api.trace import otterscan
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blocks, calls, state_search
from cchain_app.selectors import tracing as traced
from cchain_app.selectors.blocks import TransactionPosition
from cchain_app.services.calls import require_calls
from cchain_app.tracing.calls import creator_of
from chaindb.fields import HEIGHTS, height_of, row_id
from jsonrpc.errors import invalid_params
from primitives.evm import Address
from primitives.hexadecimal import encode_data

MAX_TRANSACTIONS: Final = 100
"""Maximum number of transactions on a page; the rest of the last block is added to them."""


def search_before(rpc: EvmRpc, address: Address, number: int, page_size: int) -> wire.Json:
    """ots_searchTransactionsBefore: transactions with an account below a height (0: all), newest first.

    Unspecified: a page has at most 100 transactions. A transaction in which the account takes part only through
    inner calls is not found without call rows (NODE_TRACE_INDEX), or after they are pruned (NODE_HISTORY_CALLS).

    Raises:
        JsonRpcError: -32602, the page is too long.
        IndexBehind: The calls of the latest of these blocks are not written yet.
    """
    before = row_id(min(number, HEIGHTS - 1) if number else HEIGHTS - 1)
    keys, more = _page(rpc, address, (0, before), page_size, newest=True)
    return _shown(rpc, keys, first_page=not number, last_page=not more)


def search_after(rpc: EvmRpc, address: Address, number: int, page_size: int) -> wire.Json:
    """ots_searchTransactionsAfter: the first transactions with an account above a height, newest first.

    Unspecified: as ots_searchTransactionsBefore.

    Raises:
        JsonRpcError: -32602, the page is too long.
        IndexBehind: The calls of these blocks are not written yet.
    """
    first = row_id(min(number, HEIGHTS - 2) + 1 if number else 0)
    keys, more = _page(rpc, address, (first, row_id(HEIGHTS - 1)), page_size, newest=False)
    return _shown(rpc, keys[::-1], first_page=not more, last_page=not number)


def _page(
    rpc: EvmRpc, address: Address, keys: tuple[int, int], size: int, *, newest: bool
) -> tuple[list[int], bool]:
    """Return a page of transaction keys, with all matches of each block, and whether there are more pages.

    Args:
        rpc: The chain's RPC context.
        address: The account that takes part.
        keys: The lowest key of the range, and the lowest key above it.
        size: Number of keys on the page, not counting the rest of its last block.
        newest: Whether the page begins with the highest key.

    Raises:
        JsonRpcError: -32602, the page is too long.
        IndexBehind: The calls of these blocks are not written yet.
    """
    if size > MAX_TRANSACTIONS:
        raise invalid_params(f"max allowed page size: {MAX_TRANSACTIONS}")
    require_calls(rpc.chain, height_of(keys[1]) - 1)

    def ask(first: int, before: int, most: int) -> list[int]:
        return calls.transactions_of(rpc.chain, address, first, before, most, newest=newest)

    first, before = keys
    found = ask(first, before, max(size, 1))
    if not found:
        return [], False
    height = height_of(found[-1])
    whole = [key for key in found if height_of(key) != height]
    whole += ask(max(first, row_id(height)), min(before, row_id(height + 1)), row_id(1))
    behind = (first, row_id(height)) if newest else (row_id(height + 1), before)
    return whole, bool(ask(*behind, 1))


def _shown(rpc: EvmRpc, keys: Sequence[int], *, first_page: bool, last_page: bool) -> wire.Json:
    places = [_place(rpc, key) for key in keys]
    return {
        "txs": [wire.mined_transaction(block, index) for block, index in places],
        "receipts": [otterscan.receipt(block, index) for block, index in places],
        "firstPage": first_page,
        "lastPage": last_page,
    }


def _place(rpc: EvmRpc, key: int) -> TransactionPosition:
    height = height_of(key)
    block = blocks.by_number(rpc.chain, height)
    if block is None:  # a row above the remembered head
        blocks.catch_up(rpc.chain)
        block = blocks.by_number(rpc.chain, height)
    assert block is not None, "its transactions are rows"
    return block, key - row_id(height)


def contract_creator(rpc: EvmRpc, address: Address) -> wire.Json | None:
    """ots_getContractCreator: the creator of a contract and its transaction; null for all other accounts.

    The block in which the code appeared is found in the state's history. If call rows exist up to that block, they
    contain the creator; otherwise the block is executed.

    Unspecified: the result is null for contracts of the genesis block too.
    """
    height = state_search.height_of_code(rpc.chain, address)
    if not height:
        return None
    found = None
    if height <= calls.indexed_height(rpc.chain):
        found = calls.creation_of(rpc.chain, address)
    if found is not None:
        block, index = _place(rpc, found.transaction)
        return _creation(block, index, found.creator)
    block, _ = _place(rpc, row_id(height))
    with tracing.tracing(rpc):
        traces = traced.trace_block(
            rpc.chain,
            block,
            tracing.recording(rpc, frames=True),
            time_limit=tracing.seconds(rpc),
        )
    for index, trace in reversed(list(enumerate(traces))):
        creator = creator_of(address, trace.frames)
        if creator is not None:
            return _creation(block, index, creator)
    return None


def _creation(block: AcceptedBlock, index: int, creator: Address) -> wire.Json:
    return {"hash": encode_data(block.transactions[index].hash), "creator": encode_data(creator)}
