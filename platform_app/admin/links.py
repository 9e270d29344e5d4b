"""Where the admin's pages of the P-Chain are."""

from typing import Final

from adminkit.links import Pages
from primitives.ids import PRIMARY_NETWORK_ID

_PAGES: Final = Pages("platform_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page


def block_page(key: object) -> str:
    """Return the address of a block's page by its height or ID."""
    return page("block", key)


def tx_page(tx_id: object) -> str:
    """Return the address of an accepted transaction's page."""
    return page("tx", tx_id)


def staker_page(tx_id: object, *, is_delegator: bool) -> str:
    """Return the address of the page of what a transaction staked."""
    return page("delegator" if is_delegator else "validator", tx_id)


def subnet_page(subnet_id: object) -> str:
    """Return the address of a subnet's page; of the Primary Network the list of its validators."""
    if str(subnet_id) == str(PRIMARY_NETWORK_ID):
        return search_page("validator", subnet_id, show="current")
    return page("subnet", subnet_id)


def address_page(address: object) -> str:
    """Return the address of the list of what an address can spend."""
    return search_page("utxo", address)


def node_page(node_id: object) -> str:
    """Return the address of the list of all times that a node validated."""
    return search_page("validator", node_id)
