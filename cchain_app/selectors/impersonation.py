"""Which accounts send without a key."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import signers
from cchain_app.store import impersonation as rows
from primitives.evm import Address


def is_impersonated(chain: EvmChain, account: Address) -> bool:
    """Say whether everybody may send for an account."""
    return rows.includes(chain.db, account)


def accounts(chain: EvmChain) -> tuple[Address, ...]:
    """Return the accounts that can send here: those with a key in this node, then those that are impersonated.

    That every account is impersonated names none.
    """
    with_key = signers.addresses(chain)
    named = (one for one in rows.addresses(chain.db) if one not in with_key)
    return (*with_key, *named)
