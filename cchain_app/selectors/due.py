"""Whether the pool holds what the next block could be made of, and since when: what health asks."""

from typing import NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.pool.ordering import Lane
from cchain_app.selectors import blocks, figures, pool
from cchain_app.selectors.next_block import base_fee_after
from cchain_app.store import pool as rows

MOVES = 2
"""Seconds after a block in which nothing is due: the chain moves, and the pool need not be looked at."""


class Due(NamedTuple):
    """A block that could be made."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """That could be in it."""


def due(chain: EvmChain, now: int) -> Due | None:
    """Return the block that could be made of the pool, or None while there is nothing to put in.

    Queued transactions, and those that do not pay the next block's base fee, make no block due. Who
    waits longer than the head is old waits since then: the chain went on without it, for better ones. None before the genesis too.

    Args:
        chain: Which chain.
        now: Unix seconds by the node's clock.
    """
    last = figures.head(chain)
    if last is None or now - last.timestamp < MOVES:
        return None
    waiting = rows.entries(chain.db)
    if not waiting:
        return None
    head = blocks.catch_up(chain)
    fee = base_fee_after(chain, head) or 0
    lanes = [lane for lane in pool.lanes(chain, waiting).values() if _can_run(chain, lane, fee)]
    if not lanes:
        return None
    oldest = min(lane.executable[0].received_at for lane in lanes)
    count = sum(len(lane.executable) for lane in lanes)
    return Due(head.number + 1, max(oldest, head.header.timestamp), count)


def _can_run(chain: EvmChain, lane: Lane, base_fee: int) -> bool:
    """Say whether the sender's next transaction may be in a block: those behind it wait for it."""
    if not lane.executable:
        return False
    return lane.executable[0].effective_tip(base_fee) >= chain.node.pool_min_tip
