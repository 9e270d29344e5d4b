"""Creates accounts that the node signs for, only on a development chain (devnet.md 4)."""

from typing import Final

from cchain_app.accounts.keyring import TooManyAccounts
from cchain_app.chain import EvmChain
from cchain_app.store import accounts as rows
from chaindb.locks import Lock
from primitives.evm import Address

MAX_ACCOUNTS: Final = 1000
"""Each process that lists the accounts derives all keys again, which takes a third of a millisecond each."""


def create(chain: EvmChain) -> Address:
    """Add the mnemonic's next account to those that the node signs for, and return it; it survives restarts.

    Its number is at least NODE_ACCOUNTS and was not used before.

    Raises:
        TooManyAccounts: The limit is reached.
    """
    least = chain.settings.local.accounts
    # Deriving imports slow modules. Do that before acquiring the lock.
    chain.derivation.key(rows.next_number(chain.db, least))
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        if rows.count(chain.db) >= MAX_ACCOUNTS:
            raise TooManyAccounts(MAX_ACCOUNTS)
        number = rows.next_number(chain.db, least)
        address = chain.derivation.address(number)
        rows.add(chain.db, number, address)
    return address
