"""Selects transactions of the pool for the next block, and drops those that can never be mined."""

import logging
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import AccountState, SkippedTransaction
from cchain_app.pool.queues import select
from cchain_app.selectors import pool
from cchain_app.selectors.blocks import blob_market_after
from cchain_app.store import pool as pool_rows
from cchain_app.txs.transaction import Transaction
from chaindb.locks import Lock
from primitives.evm import Address, Hash

_CHOICE = 3
"""The engine gets transactions with a total gas limit of this many blocks, because most use less than their limit."""

MAX_BYTES = 1_500_000
"""Limit of a block's transactions. Unspecified: a message between nodes has at most 2 MiB, and a response with
many blocks has less (p2p.md 9), so no node could fetch a larger block."""

_log = logging.getLogger(__name__)


def choose(
    chain: EvmChain,
    parent: AcceptedBlock,
    base_fee: int,
    included: Collection[Hash] = (),
    exporters: Mapping[Address, AccountState | None] = MappingProxyType({}),
) -> list[Transaction]:
    """Return transactions of the pool in the order in which they should run.

    Args:
        chain: The chain.
        parent: The parent block.
        base_fee: The new block's, in wei; 0 before London.
        included: Transactions that undecided blocks up to the parent contain already.
        exporters: Accounts after the exports of those blocks and of the block itself, and after the included
            transactions.
    """
    waiting = pool_rows.entries(chain.db, chain.memory.pool)
    if not waiting:
        return []
    if exporters and included:
        waiting = [
            other
            for other in waiting
            if other.sender not in exporters or other.hash not in included
        ]
    pending = [
        [other for other in queue.pending if other.hash not in included]
        if included
        else queue.pending
        for queue in pool.queues(chain, waiting, exporters).values()
    ]
    chosen = select(
        pending,
        base_fee,
        chain.config.limits.in_block(parent.header.gas_limit) * _CHOICE,
        chain.pool_limits.minimum_tip,
        MAX_BYTES,
        by_arrival=chain.settings.order == "fifo",
        most=chain.settings.max_transactions,
        blobs=blob_market_after(chain, parent),
    )
    memory = chain.memory.transactions
    unknown = pool.transactions(chain, (item.hash for item in chosen if item.hash not in memory))
    found = (unknown.get(entry.hash) or memory.get(entry.hash) for entry in chosen)
    # Another process may have changed the chain ID. Transactions for the new ID wait until this process knows it.
    mine = (None, chain.config.chain_id)
    return [element for element in found if element is not None and element.chain_id in mine]


def invalid(
    transactions: Sequence[Transaction], skipped: Sequence[SkippedTransaction]
) -> tuple[Hash, ...]:
    """Return those of the selected transactions that the engine rejected for good."""
    refused = [refusal for refusal in skipped if not refusal.retry]
    for entry in refused:
        _log.info("dropped 0x%s: %s", transactions[entry.index].hash.hex(), entry.reason)
    return tuple(transactions[refusal.index].hash for refusal in refused)


def drop(chain: EvmChain, invalid: Sequence[Hash]) -> None:
    """Remove transactions that can never be mined from the pool."""
    if invalid:
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN_POOL)
            pool_rows.remove(chain.db, invalid)
        chain.memory.pool.changed()
