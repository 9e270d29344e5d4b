"""The chains of the Primary Network by alias, name of their virtual machine, or ID."""

from info_app import selectors
from platform_app.api import chain_names
from platform_app.api.errors import refused, shortened
from platform_app.api.wire import Json
from platform_app.apps import platform_chain


def get_blockchain_id(alias: str) -> Json:
    """info.getBlockchainID: the ID of a chain.

    Unspecified: also of one that this node does not take part in, as in the reference's partial sync.
    """
    found = chain_names.find(platform_chain(), alias)
    if found is None:
        raise refused(f"there is no ID with alias {shortened(alias)}")
    return {"blockchainID": str(found)}


def is_bootstrapped(chain_name: str) -> Json:
    """info.isBootstrapped: whether a chain has finished its initial sync.

    Unspecified: no chain has that NODE_CHAINS leaves out, as in the reference's partial sync, nor one that
    stands before a block which the network has accepted and the rules here refuse.
    """
    if not chain_name:
        raise refused("argument 'chain' not given")
    letter = _letter_of(chain_name)
    if letter is None:
        raise refused(f"there is no chain with alias/ID '{shortened(chain_name)}'")
    return {"isBootstrapped": selectors.is_bootstrapped(letter)}


def _letter_of(name: str) -> str | None:
    found = chain_names.find(platform_chain(), name)
    if found is None:
        return None
    network = platform_chain().network()
    return {network.x_chain_id: "X", network.c_chain_id: "C"}.get(found, "P")
