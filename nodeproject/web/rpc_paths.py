"""The paths of the RPC interfaces: those of fixed chains and services, and those of any chain by its aliases."""

from cchain_app.chain import EvmChain
from chaindb.chains import C_CHAIN, P_CHAIN, NodeChain
from nodeproject.web.openrpc.interface import ServerPath
from nodeproject.web.paths import paths_of
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.networks import CCHAIN_ALIASES, PLATFORM_ALIASES, XCHAIN_ALIASES, label

ROOT = "/"
"""The path at which tools expect the chain of a node with a single chain."""
CCHAIN_PATHS = (*paths_of(CCHAIN_ALIASES, "/rpc"), ROOT)
CCHAIN_WEBSOCKETS = (*paths_of(CCHAIN_ALIASES, "/ws"), ROOT)
"""The paths of the C-Chain's WebSocket."""
AVAX_PATHS = paths_of(CCHAIN_ALIASES, "/avax")
"""The paths of the C-Chain's transfers from and to other chains."""
PLATFORM_PATHS = (*paths_of(PLATFORM_ALIASES), f"/ext/bc/{PRIMARY_NETWORK_ID}")
KEYSTORE_PATHS = ("/ext/keystore",)
XCHAIN_PATHS = paths_of(XCHAIN_ALIASES)
XCHAIN_WALLET_PATHS = paths_of(XCHAIN_ALIASES, "/wallet")
INFO_PATHS = ("/ext/info",)
HEALTH_PATHS = ("/ext/health",)


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


def validator_paths(chain: EvmChain) -> tuple[str, ...]:
    """Return the paths of the interface to the validators of a chain of a subnet."""
    return tuple(f"/ext/bc/{alias}/validators" for alias in chain.aliases)


def evm_servers(chain: EvmChain) -> tuple[str, tuple[ServerPath, ...]]:
    """Return the displayed name of an EVM chain's interface, and its addresses."""
    is_primary = chain.subnet_id == PRIMARY_NETWORK_ID
    name = chain.title if is_primary else label(chain.title, chain.name)
    return name, (
        ServerPath(name, http_paths(chain)[0]),
        ServerPath(f"{name} over WebSocket", socket_paths(chain)[0], is_socket=True),
    )


def outer_paths(chain: NodeChain) -> tuple[str, ...]:
    """Return the paths of the interface to a chain's outer blocks."""
    if chain.subnet_id != PRIMARY_NETWORK_ID:
        return tuple(f"/ext/bc/{alias}/proposervm" for alias in chain.aliases)
    paths = paths_of(chain.aliases, "/proposervm")
    by_id = (f"/ext/bc/{PRIMARY_NETWORK_ID}/proposervm",)
    return (*paths, *by_id) if chain.name == P_CHAIN else paths
