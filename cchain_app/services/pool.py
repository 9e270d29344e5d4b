"""What happens to the pool by the clock."""

from collections import defaultdict

from cchain_app.chain import EvmChain
from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.ordering import settle
from cchain_app.selectors import blocks, state
from cchain_app.store import pool as rows
from chaindb.locks import Lock
from primitives.evm import Address


def expire(chain: EvmChain, *, now: int) -> int:
    """Drop what has waited too long or can never be mined; return how many.

    Args:
        chain: Which chain.
        now: Unix seconds.
    """
    dropped = _expire(chain, now)
    chain.memory.pool.changed()
    return dropped


def _expire(chain: EvmChain, now: int) -> int:
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        head = blocks.catch_up(chain)
        at_head = state.state_at(chain, head.number)
        dropped: list[PoolEntry] = []
        by_sender: defaultdict[Address, list[PoolEntry]] = defaultdict(list)
        for entry in rows.entries(chain.db):
            by_sender[entry.sender].append(entry)
        for sender, waiting in by_sender.items():
            account = at_head.account(sender)
            settled = settle(
                waiting,
                account.nonce if account else 0,
                account.balance if account else 0,
                block_gas_limit=head.header.gas_limit,
                now=now,
                limits=chain.pool_limits,
            )
            dropped.extend(settled.dropped)
        rows.remove(chain.db, (entry.hash for entry in dropped))
        return len(dropped)
