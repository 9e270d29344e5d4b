"""The paths of the interfaces of chains, which follow from their aliases."""

from typing import Final

from cchain_app.chain import EvmChain
from chaindb.chains import C_CHAIN, P_CHAIN, NodeChain
from nodeproject.web.paths import paths_of
from primitives.ids import PRIMARY_NETWORK_ID

ROOT: Final = "/"
"""The path at which the C-Chain's interface is, too."""


def http_paths(chain: EvmChain) -> tuple[str, ...]:
    """Return the paths of an EVM chain's interface; the C-Chain is at `/` as well."""
    if chain.subnet_id != PRIMARY_NETWORK_ID:
        return tuple(f"/ext/bc/{alias}/rpc" for alias in chain.aliases)
    paths = paths_of(chain.aliases, "/rpc")
    return (*paths, ROOT) if chain.name == C_CHAIN else paths


def socket_paths(chain: EvmChain) -> tuple[str, ...]:
    """Return the paths of an EVM chain's WebSocket; the C-Chain is at `/` as well."""
    if chain.subnet_id != PRIMARY_NETWORK_ID:
        return tuple(f"/ext/bc/{alias}/ws" for alias in chain.aliases)
    paths = paths_of(chain.aliases, "/ws")
    return (*paths, ROOT) if chain.name == C_CHAIN else paths


def outer_paths(chain: NodeChain) -> tuple[str, ...]:
    """Return the paths of the interface to a chain's outer blocks."""
    paths = paths_of(chain.aliases, "/proposervm")
    by_id = (f"/ext/bc/{PRIMARY_NETWORK_ID}/proposervm",)
    return (*paths, *by_id) if chain.name == P_CHAIN else paths
