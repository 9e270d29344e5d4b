"""The balances of development accounts on the X-Chain: in a new network's genesis, and now."""

from collections.abc import Mapping
from typing import Final

from adminkit.formats import format_units
from cchain_app.accounts.keyring import EWOQ
from cchain_app.chain import EvmChain
from chaindb import clock
from chaindb.chains import X_CHAIN, is_left_out
from nodeproject.node import Node
from primitives.addresses import format_address
from primitives.evm import Address
from primitives.ids import ShortID
from primitives.keys import EWOQ_KEY, address_of
from primitives.networks import LOCAL, hrp_of
from xchain_app.selectors import outputs

_MOST: Final = 10_000
"""Limit of whole coins for each account, whatever NODE_BALANCE says: the X-Chain's supply is finite."""


def holders_of(chain: EvmChain) -> Mapping[ShortID, int]:
    """Return the whole coins that the accounts of a development chain get on the X-Chain of a new network."""
    coins = min(chain.settings.local.balance, _MOST)
    if not chain.is_development or not coins:
        return {}
    return {address_of(chain.keyring.key_of(account)): coins for account in _accounts(chain)}


def described(node: Node, unit: int) -> dict[str, str]:
    """Return the X-Chain's part of a local network's banner: the first account with its coins, and ewoq.

    The rows are read without the chain's modules, which a start loads later.

    Args:
        node: The node.
        unit: Smallest units of a coin.

    Returns:
        Addresses with coins, by the accounts' names; empty without the chain.
    """
    evm = node.evm_chain
    if is_left_out(X_CHAIN):
        return {}
    shown = {}
    accounts = _accounts(evm)
    if accounts:
        first = address_of(evm.keyring.key_of(accounts[0]))
        coins = _coins(node, first, unit)
        note = (
            f"{coins}, and so on"
            if coins
            else "no coins: the network began without them; the faucet gives some"
        )
        shown["(0)"] = f"{_address(first)}  {note}"
    ewoq = address_of(EWOQ_KEY)
    shown["ewoq"] = f"{_address(ewoq)}  {_coins(node, ewoq, unit) or 'no coins'}"
    return shown


def _address(owner: ShortID) -> str:
    return format_address(X_CHAIN, hrp_of(LOCAL), owner)


def _accounts(chain: EvmChain) -> list[Address]:
    """Return the accounts with keys besides ewoq's, in their order."""
    return [account for account in chain.keyring if account != EWOQ]


def _coins(node: Node, owner: ShortID, unit: int) -> str:
    """Return an address's coins on the X-Chain as text; empty if it has none."""
    db = node.database
    asset = outputs.fee_asset(db)
    assert asset is not None, "the start has made the X-Chain's genesis"
    found = outputs.balance(db, owner, asset, now=clock.now(), with_partial=False).amount
    whole = format_units(found, unit)
    return f"{whole} {node.settings.common.coin_symbol}" if found else ""
