"""Letting everybody send for accounts without their keys, and saying whose signatures are, on a development chain alone.

The rules are devnet.md 4.
"""

from cchain_app import notifications
from cchain_app.chain import EvmChain
from cchain_app.development.errors import TooManySignatures
from cchain_app.development.signatures import MOST_SIGNATURES, ImpersonatedSignature, signers_at
from cchain_app.services.by_hand import exclusively
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


def impersonate_signature(chain: EvmChain, signature: bytes, signer: Address) -> None:
    """Let ecrecover answer an account for a signature, whatever was signed, in calls at once and from the next block on.

    Unspecified: it is so in calls at all heights, but in blocks that are there already as it was. It stays when the
    chain goes back, and ends with `snapshots.reset`. Who signed transactions and authorizations (EIP-7702) is what
    it was.

    Args:
        chain: Which chain.
        signature: r, s and v as ecrecover is given them, 65 bytes; v is its word's last byte.
        signer: The account.

    Raises:
        HasPeers: Other nodes follow the chain.
        TooManySignatures: There is no room for another.
    """
    with exclusively(chain) as head:
        found = rows.signatures(chain.db)
        if dict(signers_at(found)).get(signature) == signer:
            return
        if len(found) >= MOST_SIGNATURES:
            raise TooManySignatures(MOST_SIGNATURES)
        rows.set_signature(chain.db, ImpersonatedSignature(head.number + 1, signature, signer))
    chain.memory.conditions.reset()
    notifications.changed_by_hand(chain, head.number)
