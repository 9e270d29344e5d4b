"""The interfaces to the accepted blocks of each chain: their paths and methods."""

from collections.abc import Callable, Mapping
from typing import Final

from chaindb.chains import C_CHAIN, P_CHAIN, X_CHAIN, is_left_out, title
from info_app import index_api
from info_app.container_index import ContainerIndex
from jsonrpc.dispatch.registry import MethodRegistry
from network_app.node import NodeNetwork
from nodeproject.web.openrpc.interface import RpcInterface, ServerPath

INDEX_PATHS: Final = {name: f"/ext/index/{name}/block" for name in (P_CHAIN, X_CHAIN, C_CHAIN)}
"""The paths of the indexes of accepted blocks, by chain."""
EMPTY_INDEX_PATHS: Final = ("/ext/index/X/tx", "/ext/index/X/vtx")
"""The paths of the indexes of the X-Chain's transactions and vertices before it was linear."""


def described_index(network: Callable[[], NodeNetwork]) -> RpcInterface:
    """Return the methods of the P-Chain's index, as the description of all: the other chains' have the same ones."""
    servers = (
        ServerPath(f"{title(name)}: index of blocks", path)
        for name, path in INDEX_PATHS.items()
        if not is_left_out(name)
    )
    methods = index_api.methods(_index_of(network, P_CHAIN))
    return RpcInterface("Index", servers, methods, by_name=True)


def other_indexes(network: Callable[[], NodeNetwork]) -> Mapping[str, MethodRegistry]:
    """Return the methods of the indexes besides the P-Chain's, by path."""
    chains = {
        path: index_api.methods(_index_of(network, name))
        for name, path in INDEX_PATHS.items()
        if name != P_CHAIN and not is_left_out(name)
    }
    empty = () if is_left_out(X_CHAIN) else EMPTY_INDEX_PATHS
    return {**{path: index_api.methods(ContainerIndex()) for path in empty}, **chains}


def _index_of(network: Callable[[], NodeNetwork], name: str) -> ContainerIndex:
    return ContainerIndex(lambda: network().chains[name].rows)
