"""Making accounts that the node signs for, on a development chain alone (devnet.md 4)."""

from typing import Final

from cchain_app.accounts.errors import TooManyAccounts
from cchain_app.chain import EvmChain
from cchain_app.store import accounts as rows
from chaindb.locks import Lock
from primitives.evm import Address

MOST_ACCOUNTS: Final = 1000
"""The keys of all are derived anew in each process that lists them, which takes a third of a millisecond each."""


def create(chain: EvmChain) -> Address:
    """Let the node sign for the mnemonic's next account, and return it; restarts change nothing.

    Its number is not below NODE_ACCOUNTS, nor was it given before.

    Raises:
        TooManyAccounts: There are as many as there may be.
    """
    least = chain.node.accounts
    # What deriving imports takes its time: nobody waits for the lock meanwhile.
    chain.derivation.key(rows.next_number(chain.db, least))
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        if rows.count(chain.db) >= MOST_ACCOUNTS:
            raise TooManyAccounts(MOST_ACCOUNTS)
        number = rows.next_number(chain.db, least)
        address = chain.derivation.address(number)
        rows.add(chain.db, number, address)
    return address
