"""Making blocks: choose from the pool, execute, and accept.

If somebody else was faster, the block is made anew on the new head.
"""

import logging
from collections.abc import Collection, Sequence
from functools import partial

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import SkippedTransaction
from cchain_app.evm.trie import TrieError
from cchain_app.pool.ordering import select
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks, pool, state
from cchain_app.selectors.next_block import base_fee_after
from cchain_app.services.acceptance import (
    HeadMoved,
    accept,
    execute,
    finish,
    head_moved,
    surroundings,
)
from cchain_app.store import evm_state
from cchain_app.store import pool as rows
from cchain_app.txs.transaction import Transaction
from chaindb import turns
from chaindb.building import building
from chaindb.chains import Chain
from chaindb.locks import Lock
from primitives.evm import Hash

_CHOICE = 3
"""So many blocks' worth of gas limits are offered to the engine, since most use less than theirs."""

MOST_BYTES = 1_500_000
"""Of a block's transactions. Unspecified: a message between nodes has at most 2 MiB, an answer with
many blocks less (p2p.md 9), so a larger block could not be fetched by anybody."""

_log = logging.getLogger(__name__)


def produce_block(chain: EvmChain, *, now: int, allow_empty: bool = False) -> AcceptedBlock | None:
    """Make one block of what the pool has and return it.

    None when there is nothing to put in, or when it is another node's turn.

    Args:
        chain: Which chain.
        now: Unix seconds; the block's time, unless its parent's is later.
        allow_empty: Make a block even so.
    """
    while True:
        head = blocks.catch_up(chain)
        if not turns.may_produce(Chain.C, head.number + 1, now):
            return None
        chosen = choose(chain, head)
        if not chosen and not allow_empty:
            return None
        try:
            with building(Chain.C, head.number + 1):
                return _produce(chain, head, chosen, now, allow_empty=allow_empty)
        except HeadMoved:
            continue
        except turns.TurnOver as over:
            chain.offer.was_late(over)
            return None
        except TrieError:
            # Unless another process has written a block meanwhile, the rows are damaged.
            if not head_moved(chain, head):
                raise


def _produce(
    chain: EvmChain,
    head: AcceptedBlock,
    chosen: Sequence[Transaction],
    now: int,
    *,
    allow_empty: bool,
) -> AcceptedBlock | None:
    made, unusable = _make(chain, head, chosen, now)
    if not made.block.transactions and not allow_empty:
        drop(chain, unusable)
        return None
    hold = partial(turns.hold, Chain.C, made.block.number)
    accept(chain, [made], head, unusable=unusable, before=hold)
    chain.offer.was_taken()
    return made.block


def choose(
    chain: EvmChain, parent: AcceptedBlock, included: Collection[Hash] = ()
) -> list[Transaction]:
    """Return transactions of the pool in the order in which they should run.

    Args:
        chain: Which chain.
        parent: The block before.
        included: Those that undecided blocks up to the parent have already.
    """
    waiting = rows.entries(chain.db)
    if not waiting:
        return []
    executable = [
        [one for one in lane.executable if one.hash not in included]
        if included
        else lane.executable
        for lane in pool.lanes(chain, waiting).values()
    ]
    chosen = select(
        executable,
        base_fee_after(chain, parent) or 0,
        parent.header.gas_limit * _CHOICE,
        chain.pool_limits.minimum_tip,
        MOST_BYTES,
    )
    chosen = tuple(chain.offer.of(chosen))
    memory = chain.memory.transactions
    unknown = pool.transactions(chain, (one.hash for one in chosen if one.hash not in memory))
    found = (unknown.get(one.hash) or memory.get(one.hash) for one in chosen)
    return [one for one in found if one is not None]


def _make(
    chain: EvmChain, head: AcceptedBlock, transactions: Sequence[Transaction], now: int
) -> tuple[VerifiedBlock, tuple[Hash, ...]]:
    """Execute transactions on the head; return the block, and what of them can never be mined."""
    env = surroundings(chain, head, max(now, head.header.timestamp))
    recipients = {tx.to for tx in transactions if tx.to is not None}
    state.prefetch_accounts(chain, [*recipients, env.coinbase], head.number)
    executed = execute(
        chain, env, transactions, state.state_at(chain, head.number), skip_invalid=True
    )
    included = [transactions[index] for index in executed.included]
    before = (head.header.state_root, evm_state.NodeRows(chain.db))
    return finish(chain, env, included, executed, before), invalid(transactions, executed.skipped)


def drop(chain: EvmChain, invalid: Sequence[Hash]) -> None:
    """Take transactions that can never be mined out of the pool."""
    if invalid:
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN_POOL)
            rows.remove(chain.db, invalid)
        chain.memory.pool.changed()


def invalid(
    transactions: Sequence[Transaction], skipped: Sequence[SkippedTransaction]
) -> tuple[Hash, ...]:
    """Return what of the transactions that were offered the engine refused for good."""
    refused = [one for one in skipped if not one.retry]
    for one in refused:
        _log.info("dropped 0x%s: %s", transactions[one.index].hash.hex(), one.reason)
    return tuple(transactions[one.index].hash for one in refused)
