"""The methods of the interfaces besides those of EVM chains: of the P-Chain, the X-Chain, and the node's services."""

from collections.abc import Mapping
from functools import cached_property, partial

from cchain_app.api import avax as avax_api
from cchain_app.api.avax import AvaxNetwork, AvaxRpc
from cchain_app.chain import EvmChain
from chaindb.chains import P_CHAIN
from health_app.api import HealthApi
from health_app.reporter import Reporter
from info_app import api as info_api
from info_app import proposervm as proposervm_api
from info_app.api import OwnNode
from info_app.proposervm import OuterBlockInfo
from info_app.subnet_validators import validator_methods
from info_app.version import vm_versions
from jsonrpc.dispatch.registry import MethodRegistry
from network_app.node import NodeNetwork
from nodeproject.web.indexes import INDEX_PATHS, described_index, other_indexes
from nodeproject.web.openrpc.interface import RpcInterface, ServerPath
from nodeproject.web.rpc_paths import (
    AVAX_PATHS,
    HEALTH_PATHS,
    INFO_PATHS,
    KEYSTORE_PATHS,
    PLATFORM_PATHS,
    XCHAIN_PATHS,
    XCHAIN_WALLET_PATHS,
    outer_paths,
)
from nodeproject.web.user_keys import PlatformKeystore
from platform_app import api as platform_api
from platform_app.api import PlatformRpc
from platform_app.api import keystore as keystore_api
from platform_app.api.params import find_chain_id
from primitives.ids import ID
from primitives.node_identity import IdentityFiles
from xchain_app import api as xchain_api
from xchain_app.api import AvmRpc


class FurtherInterfaces:
    """The methods of the interfaces of a node, but those of its EVM chains.

    Args:
        evm: The C-Chain.
        platform: The shared state of the P-Chain's interfaces.
        avm: The shared state of the X-Chain's interfaces.
        network: The node's part in its network, which has the outer blocks of its chains.
        reporter: Provides the health reports.
        identity: The files of the node's identity.
    """

    def __init__(
        self,
        *,
        evm: EvmChain,
        platform: PlatformRpc,
        avm: AvmRpc,
        network: NodeNetwork,
        reporter: Reporter,
        identity: IdentityFiles,
    ) -> None:
        self._evm = evm
        self._platform = platform
        self._avm = avm
        self._network = network
        self._reporter = reporter
        self._identity = identity

    @cached_property
    def by_name(self) -> Mapping[str, RpcInterface]:
        """The methods by the names of the interfaces in monitoring."""
        platform = self._platform
        own = OwnNode(self._identity, vm_versions(self._evm.engine.name))
        health = HealthApi(self._reporter)
        return {
            "avax": _interface("C-Chain: transfers", AVAX_PATHS, avax_api.registry(self._avax_rpc)),
            "P": _interface("P-Chain", PLATFORM_PATHS, platform_api.registry(platform)),
            "keystore": _interface("Keystore", KEYSTORE_PATHS, keystore_api.registry(platform)),
            "X": _interface("X-Chain", XCHAIN_PATHS, xchain_api.registry(self._avm)),
            "X wallet": _interface(
                "X-Chain wallet", XCHAIN_WALLET_PATHS, xchain_api.wallet_registry(self._avm)
            ),
            # That of the other chains has the same methods.
            "P proposervm": _interface(
                "Outer blocks", outer_paths(platform.chain), self.outer_methods(P_CHAIN)
            ),
            "index": described_index(lambda: self._network),
            "info": _interface("Info", INFO_PATHS, info_api.methods(own, platform.answers)),
            "health": _interface("Health", HEALTH_PATHS, health.methods()),
        }

    def outer_methods(self, name: str) -> MethodRegistry:
        """Return the methods of the interface to the outer blocks of a chain by its name."""
        rows = self._network.chains[name].rows
        return proposervm_api.methods(OuterBlockInfo(rows, self._platform, self._network.upgrades))

    def validator_methods(self, subnet_id: ID) -> MethodRegistry:
        """Return the methods of the interface to the validators of a subnet."""
        joined = self._network.joined_subnets
        return validator_methods(self._platform.chain, subnet_id, joined)

    def indexes(self) -> Mapping[str, MethodRegistry]:
        """Return the methods of the interfaces to accepted blocks, by path; the described one is the last."""
        described = {INDEX_PATHS[P_CHAIN]: self.by_name["index"].registry}
        return {**other_indexes(lambda: self._network), **described}

    @property
    def _avax_rpc(self) -> AvaxRpc:
        platform = self._platform.chain
        network = AvaxNetwork(
            platform.config.hrp, partial(find_chain_id, platform), PlatformKeystore(platform)
        )
        return AvaxRpc(self._evm, network)


def _interface(title: str, paths: tuple[str, ...], registry: MethodRegistry) -> RpcInterface:
    """Return the methods of an interface with named params."""
    return RpcInterface(title, (ServerPath(title, paths[0]),), registry, by_name=True)
