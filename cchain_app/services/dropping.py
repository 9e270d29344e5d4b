"""Removes transactions from the pool, on request (devnet.md 6) or by this node's operator."""

from cchain_app.chain import EvmChain
from cchain_app.development.errors import AlreadyMined, DevelopmentReason
from cchain_app.selectors import blocks
from cchain_app.services.cheats import exclusively
from cchain_app.store import pool as rows
from chaindb.locks import Lock
from primitives.evm import Address, Hash


def drop_transaction(chain: EvmChain, transaction: Hash) -> bool:
    """Remove a transaction from the pool and return whether it was there. Later nonces wait behind the gap.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        AlreadyMined: It is in a block.
    """
    with exclusively(chain):
        waited = bool(rows.envelopes(chain.db, [transaction]))
        rows.remove(chain.db, [transaction])
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
        waited = bool(rows.envelopes(chain.db, [transaction]))
        rows.remove(chain.db, [transaction])
    chain.memory.pool.changed()
    return waited


def drop_all(chain: EvmChain, sender: Address | None = None) -> None:
    """Remove all transactions from the pool, or all of one sender.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    with exclusively(chain):
        if sender is None:
            rows.remove_all(chain.db)
        else:
            rows.remove(chain.db, [entry.hash for entry in rows.entries_of(chain.db, [sender])])
    chain.memory.pool.changed()
