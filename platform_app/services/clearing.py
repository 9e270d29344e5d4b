"""Removal of transactions from the mempool that can no longer be accepted."""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.executor.clock import at_next_block
from platform_app.executor.standard import execute
from platform_app.state.chain import ChainState, Diff
from platform_app.store import blocks, mempool, rows
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from primitives.ids import ID
from utxo.errors import InvalidTx

MAX_CHECKED = 1024
"""The maximum number of transactions to check, oldest first."""

_log = logging.getLogger(__name__)


def drop_stale(chain: PlatformChain, *, now: int) -> int:
    """Drop pending transactions that can no longer be accepted, and return the number of them.

    For nodes that do not build blocks, where no builder finds such transactions. It does nothing until `PAUSE` seconds
    after the last check. If a block arrives during the check, it drops nothing until the next check.

    Args:
        chain: The chain with the mempool.
        now: The node's time in Unix seconds.
    """
    if mempool.is_empty(chain.db) or not chain.recheck.may_begin():
        return 0
    place = blocks.read(chain.db)
    stale = list(refusals(chain, list(islice(mempool.oldest_first(chain.db), MAX_CHECKED)), now))
    if not drop_unless_moved(chain, stale, place, now):
        return 0
    return len(stale)


def drop_rivals(chain: PlatformChain, accepted: Sequence[Tx], now: int) -> None:
    """Drop pending transactions that conflict with accepted ones, and keep the reasons.

    The caller holds `Lock.PCHAIN_MEMPOOL`, and has written the blocks.
    """
    if mempool.is_empty(chain.db):
        return
    spent = [tx_input.utxo_id for tx in accepted for tx_input in rows.inputs_of(tx)]
    rivals = mempool.waiting(chain.db, list(set(mempool.spenders(chain.db, spent).values())))
    mempool.drop(chain.db, refusals(chain, rivals, now), now)


def refusals(chain: PlatformChain, txs: Sequence[Tx], now: int) -> Iterator[tuple[ID, str]]:
    """Yield those of the transactions that the next block could not include, with the rule's message."""
    if not txs:
        return
    state = DatabaseState(chain.db)
    state.prefetch(txs)
    next_state, env = at_next_block(state, now, chain.config), chain.env(state.network, now)
    for tx in txs:
        try:
            execute(tx, Diff(next_state), env)
        except InvalidTx as reason:
            yield tx.tx_id, str(reason)


def crashing(
    chain: PlatformChain, state: DatabaseState, parent_state: ChainState, now: int
) -> Iterator[tuple[ID, str]]:
    """Yield the pending transactions that crash the rules instead of being rejected, with the reason to report.

    Args:
        chain: The chain with the mempool.
        state: The accepted state.
        parent_state: The state that the block is built on.
        now: The node's time in Unix seconds.
    """
    env = chain.env(state.network, now)
    next_state = at_next_block(parent_state, now, chain.config)
    for tx in mempool.prefetched(chain.db, state):
        try:
            execute(tx, Diff(next_state), env)
        except InvalidTx:
            continue  # the builder rejects and reports it too
        except Exception:
            _log.exception("transaction %s crashes the rules instead of being rejected", tx.tx_id)
            yield tx.tx_id, "internal error"


def drop_unless_moved(
    chain: PlatformChain,
    refused: Sequence[tuple[ID, str]],
    place: tuple[StoredNetwork, Tip] | None,
    now: int,
) -> bool:
    """Drop transactions unless a block has come since they were rejected; return whether any were dropped.

    Args:
        chain: The chain with the mempool.
        refused: The transactions to drop, with the reasons.
        place: The result of `store.blocks.read` from before the rules were executed.
        now: The node's time in Unix seconds.
    """
    if not refused:
        return False
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN_MEMPOOL)
        if blocks.read(chain.db) != place:
            return False
        drop(chain, refused, now)
        return True


def drop(chain: PlatformChain, refused: Sequence[tuple[ID, str]], now: int) -> None:
    """Drop transactions and keep the reasons. The caller holds `Lock.PCHAIN_MEMPOOL`."""
    for tx_id, reason in refused:
        _log.info("dropped %s: %s", tx_id, reason)
    mempool.drop(chain.db, refused, now)
