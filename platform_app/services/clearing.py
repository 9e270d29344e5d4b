"""Taking out of the mempool what can no longer be accepted, where no builder finds it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import transaction as database

from chaindb.locks import Lock, acquire
from platform_app.apps import platform_chain
from platform_app.executor.clock import at_next_block
from platform_app.executor.standard import execute
from platform_app.services.environment import env
from platform_app.state.diff import Diff
from platform_app.store import blocks, mempool, rows
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.errors import InvalidTx
from primitives.ids import ID

PAUSE = 10.0
"""Seconds between two looks at all that waits."""
MOST = 1024
"""So many of the oldest transactions are looked at."""


@dataclass(slots=True)
class _Looks:
    """When this process may look again, on the monotonic clock, in seconds."""

    again_at: float = 0.0

    def may_begin(self) -> bool:
        moment = time.monotonic()
        if moment < self.again_at:
            return False
        self.again_at = moment + PAUSE
        return True


_looks = _Looks()


def drop_stale(*, now: int) -> int:
    """Drop waiting transactions that can no longer be accepted, and return how many.

    For nodes that make no blocks: there is no builder that would find them. Within `PAUSE` of the last
    look it does nothing; nor when a block comes meanwhile, until the next time.

    Args:
        now: The node's time in Unix seconds.
    """
    if mempool.is_empty(platform_chain().db) or not _looks.may_begin():
        return 0
    place = blocks.read(platform_chain().db)
    stale = list(refusals(list(islice(mempool.oldest_first(platform_chain().db), MOST)), now))
    return _drop(stale, place, now) if stale else 0


def drop_rivals(accepted: Sequence[Tx], now: int) -> None:
    """Drop what spends the same as transactions that others have accepted, and keep the reasons.

    The caller holds `Lock.PCHAIN_MEMPOOL`, and has written the blocks.
    """
    if mempool.is_empty(platform_chain().db):
        return
    spent = [one.utxo_id for tx in accepted for one in rows.inputs_of(tx)]
    rivals = mempool.waiting(
        platform_chain().db, list(set(mempool.spenders(platform_chain().db, spent).values()))
    )
    mempool.drop(platform_chain().db, refusals(rivals, now), now)


def refusals(txs: Sequence[Tx], now: int) -> Iterator[tuple[ID, str]]:
    """Walk which of these transactions the next block could not have, and why, in the rules' words."""
    if not txs:
        return
    state = DatabaseState(platform_chain().db)
    state.prefetch(txs)
    ground, surroundings = (
        at_next_block(state, now, platform_chain().config),
        env(state.network, now),
    )
    for tx in txs:
        try:
            execute(tx, Diff(ground), surroundings)
        except InvalidTx as reason:
            yield tx.tx_id, str(reason)


@database.atomic(durable=True)
def _drop(stale: Sequence[tuple[ID, str]], place: object, now: int) -> int:
    """Drop transactions, unless a block has come since they were looked at."""
    acquire(Lock.PCHAIN_MEMPOOL)
    if blocks.read(platform_chain().db) != place:
        return 0
    mempool.drop(platform_chain().db, stale, now)
    return len(stale)
