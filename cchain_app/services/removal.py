"""Removes transactions from the pool: on request (devnet.md 6), by this node's operator, or because they are too old."""

from collections import defaultdict

from cchain_app.chain import EvmChain
from cchain_app.development.errors import AlreadyMined, DevelopmentReason
from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.queues import settle
from cchain_app.selectors import blocks, state
from cchain_app.services.cheats import exclusively
from cchain_app.store import pool as pool_rows
from chaindb.locks import Lock
from primitives.evm import Address, Hash


def drop_transaction(chain: EvmChain, transaction: Hash) -> bool:
    """Remove a transaction from the pool and return whether it was there. Later nonces wait behind the gap.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        AlreadyMined: It is in a block.
    """
    with exclusively(chain):
        waited = bool(pool_rows.envelopes(chain.db, [transaction]))
        pool_rows.remove(chain.db, [transaction])
    chain.memory.pool.changed()
    if not waited and blocks.find_transaction(chain, transaction) is not None:
        raise AlreadyMined(DevelopmentReason.ALREADY_MINED, transaction=transaction.hex())
    return waited


def withdraw(chain: EvmChain, transaction: Hash) -> bool:
    """Remove a transaction from this node's own pool, even if other nodes follow the chain; return whether it was there.

    For the operator: a peer that has it may mine it or send it again. Later nonces wait behind the gap.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        waited = bool(pool_rows.envelopes(chain.db, [transaction]))
        pool_rows.remove(chain.db, [transaction])
    chain.memory.pool.changed()
    return waited


def drop_all(chain: EvmChain, sender: Address | None = None) -> None:
    """Remove all transactions from the pool, or all of one sender.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    with exclusively(chain):
        if sender is None:
            pool_rows.remove_all(chain.db)
        else:
            pool_rows.remove(
                chain.db, [entry.hash for entry in pool_rows.entries_of(chain.db, [sender])]
            )
    chain.memory.pool.changed()


def expire(chain: EvmChain, *, now: int) -> int:
    """Drop transactions that have been pending too long or can never be mined; return how many.

    Args:
        chain: The chain.
        now: Unix seconds of wall time.
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
        for entry in pool_rows.entries(chain.db, chain.memory.pool):
            by_sender[entry.sender].append(entry)
        for sender, waiting in by_sender.items():
            account = at_head.account(sender)
            settled = settle(
                waiting,
                account.nonce if account else 0,
                chain.pool_limits.funds(account.balance if account else 0),
                block_gas_limit=chain.config.limits.in_block(head.header.gas_limit),
                now=now,
                limits=chain.pool_limits,
            )
            dropped.extend(settled.dropped)
        pool_rows.remove(chain.db, (entry.hash for entry in dropped))
        return len(dropped)
