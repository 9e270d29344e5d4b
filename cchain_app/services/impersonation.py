"""Letting everybody send for accounts without their keys, on a development chain alone (devnet.md 4)."""

from cchain_app.chain import EvmChain
from cchain_app.store import impersonation as rows
from chaindb.locks import Lock
from primitives.evm import Address


def impersonate(chain: EvmChain, account: Address | None) -> None:
    """Let an account send without its key, or every account where none is named; restarts change nothing."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.add(chain.db, account)


def stop(chain: EvmChain, account: Address | None) -> bool:
    """Let an account, or every one that is not named, send with its key alone; return whether it could without."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        return rows.remove(chain.db, account)
