"""What of the pool goes into the next block, and what leaves the pool because it can never be mined."""

import logging
from collections.abc import Collection, Sequence

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import SkippedTransaction
from cchain_app.pool.ordering import select
from cchain_app.selectors import pool
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.store import pool as rows
from cchain_app.txs.transaction import Transaction
from chaindb.locks import Lock
from primitives.evm import Hash

_CHOICE = 3
"""So many blocks' worth of gas limits are offered to the engine, since most use less than theirs."""

MOST_BYTES = 1_500_000
"""Of a block's transactions. Unspecified: a message between nodes has at most 2 MiB, an answer with
many blocks less (p2p.md 9), so a larger block could not be fetched by anybody."""

_log = logging.getLogger(__name__)


def choose(
    chain: EvmChain, parent: AcceptedBlock, included: Collection[Hash] = ()
) -> list[Transaction]:
    """Return transactions of the pool in the order in which they should run.

    Args:
        chain: Which chain.
        parent: The block before.
        included: Those that undecided blocks up to the parent have already.
    """
    waiting = rows.entries(chain.db, chain.memory.pool)
    if not waiting:
        return []
    pending = [
        [one for one in queue.pending if one.hash not in included] if included else queue.pending
        for queue in pool.queues(chain, waiting).values()
    ]
    chosen = select(
        pending,
        base_fee_after(chain, parent) or 0,
        parent.header.gas_limit * _CHOICE,
        chain.pool_limits.minimum_tip,
        MOST_BYTES,
    )
    memory = chain.memory.transactions
    unknown = pool.transactions(chain, (one.hash for one in chosen if one.hash not in memory))
    found = (unknown.get(one.hash) or memory.get(one.hash) for one in chosen)
    # Another process may have changed the chain ID since this one looked: what came later is for its next look.
    mine = (None, chain.config.chain_id)
    return [one for one in found if one is not None and one.chain_id in mine]


def invalid(
    transactions: Sequence[Transaction], skipped: Sequence[SkippedTransaction]
) -> tuple[Hash, ...]:
    """Return what of the transactions that were offered the engine refused for good."""
    refused = [one for one in skipped if not one.retry]
    for one in refused:
        _log.info("dropped 0x%s: %s", transactions[one.index].hash.hex(), one.reason)
    return tuple(transactions[one.index].hash for one in refused)


def drop(chain: EvmChain, invalid: Sequence[Hash]) -> None:
    """Take transactions that can never be mined out of the pool."""
    if invalid:
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN_POOL)
            rows.remove(chain.db, invalid)
        chain.memory.pool.changed()
