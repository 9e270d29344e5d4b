"""Where the admin's pages of the network are, and those of the chains that they lead to."""

from typing import Final

from adminkit.links import Pages
from cchain_app.admin import links as cchain
from platform_app.admin import links as platform

_PAGES: Final = Pages("network_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page


def peer_page(node_id: object) -> str:
    """Return the address of a peer's page."""
    return page("peer", node_id)


def proposer_page(node_id: object) -> str:
    """Return the address of the list of blocks that a node proposed."""
    return search_page("outerblock", node_id)


def validator_page(node_id: object) -> str:
    """Return the address of the list of all times that a node validated."""
    return platform.node_page(node_id)


def subnet_page(subnet_id: object) -> str:
    """Return the address of a subnet's page."""
    return platform.subnet_page(subnet_id)


def outer_page(key: object) -> str:
    """Return the address of an outer block's page by its key or ID."""
    return page("outerblock", key)


def inner_page(chain: str, height: int) -> str:
    """Return the address of the page of a chain's own block."""
    return cchain.block_page(height) if chain == "C" else platform.block_page(height)
