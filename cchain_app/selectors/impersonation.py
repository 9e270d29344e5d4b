"""The accounts that may send without a key."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import signers
from cchain_app.store import impersonation as rows
from primitives.evm import Address


def is_impersonated(chain: EvmChain, account: Address) -> bool:
    """Return whether an account is impersonated, so that every caller may send for it."""
    return rows.includes(chain.db, account)


def accounts(chain: EvmChain) -> tuple[Address, ...]:
    """Return the accounts that can send here: those with a key in this node, then the impersonated ones.

    If all accounts are impersonated, the list does not contain them.
    """
    with_key = signers.addresses(chain)
    named = (address for address in rows.addresses(chain.db) if address not in with_key)
    return (*with_key, *named)
