"""Blockchain aliases: the chains of the Primary Network by letter, name or ID.

Unspecified: chains of other subnets run elsewhere, so this node has no alias for them, not even
their IDs.
"""

from platform_app.api.errors import refused, shortened
from platform_app.chain import PlatformChain
from primitives.ids import ID
from primitives.networks import CCHAIN_ALIASES, XCHAIN_ALIASES


def chain_id_of(chain: PlatformChain, alias: str) -> ID:
    """Return the ID of a chain of the Primary Network.

    Raises:
        JsonRpcError: -32000, no chain has this alias.
    """
    found = find(chain, alias)
    if found is None:
        raise refused(f"there is no ID with alias: {shortened(alias)}")
    return found


def find(chain: PlatformChain, alias: str) -> ID | None:
    """Return the ID of a chain of the Primary Network, or None for an unknown alias."""
    if chain.is_named(alias):
        return chain.blockchain_id
    network = chain.network()
    if alias in {*XCHAIN_ALIASES, str(network.x_chain_id)}:
        return network.x_chain_id
    if alias in {*CCHAIN_ALIASES, str(network.c_chain_id)}:
        return network.c_chain_id
    return None
