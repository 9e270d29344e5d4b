"""Taking out of the mempool what can no longer be accepted."""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.executor.clock import at_next_block
from platform_app.executor.standard import execute
from platform_app.state.diff import Diff
from platform_app.store import blocks, mempool, rows
from platform_app.store.blocks import Network, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.errors import InvalidTx
from primitives.ids import ID

MOST = 1024
"""So many of the oldest transactions are looked at."""

_log = logging.getLogger(__name__)


def drop_stale(chain: PlatformChain, *, now: int) -> int:
    """Drop waiting transactions that can no longer be accepted, and return how many.

    For nodes that make no blocks: there is no builder that would find them. Within `PAUSE` of the last
    look it does nothing; nor when a block comes meanwhile, until the next time.

    Args:
        chain: Whose mempool.
        now: The node's time in Unix seconds.
    """
    if mempool.is_empty(chain.db) or not chain.looks.may_begin():
        return 0
    place = blocks.read(chain.db)
    stale = list(refusals(chain, list(islice(mempool.oldest_first(chain.db), MOST)), now))
    if not drop_unless_moved(chain, stale, place, now):
        return 0
    return len(stale)


def drop_rivals(chain: PlatformChain, accepted: Sequence[Tx], now: int) -> None:
    """Drop what spends the same as transactions that others have accepted, and keep the reasons.

    The caller holds `Lock.PCHAIN_MEMPOOL`, and has written the blocks.
    """
    if mempool.is_empty(chain.db):
        return
    spent = [one.utxo_id for tx in accepted for one in rows.inputs_of(tx)]
    rivals = mempool.waiting(chain.db, list(set(mempool.spenders(chain.db, spent).values())))
    mempool.drop(chain.db, refusals(chain, rivals, now), now)


def refusals(chain: PlatformChain, txs: Sequence[Tx], now: int) -> Iterator[tuple[ID, str]]:
    """Walk which of these transactions the next block could not have, and why, in the rules' words."""
    if not txs:
        return
    state = DatabaseState(chain.db)
    state.prefetch(txs)
    ground, environment = (
        at_next_block(state, now, chain.config),
        chain.env(state.network, now),
    )
    for tx in txs:
        try:
            execute(tx, Diff(ground), environment)
        except InvalidTx as reason:
            yield tx.tx_id, str(reason)


def drop_unless_moved(
    chain: PlatformChain,
    refused: Sequence[tuple[ID, str]],
    place: tuple[Network, Tip] | None,
    now: int,
) -> bool:
    """Drop transactions unless a block has come since the rules refused them; say whether any are gone.

    Args:
        chain: Whose mempool.
        refused: What is dropped, with the reasons.
        place: What the rows said before the rules were asked (`store.blocks.read`).
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
