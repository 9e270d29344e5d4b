"""The values that a node's EVM chains read from its P-Chain, whose modules are imported at the first read.

The chains do not know each other; the code that composes the node connects them.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.chain import NoBlockchainID
from cchain_app.chain_options import WEI
from cchain_app.genesis import load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.settings import EvmSettings
from primitives.ids import ID
from primitives.settings import CommonSettings

if TYPE_CHECKING:
    from platform_app.chain import PlatformChain
    from platform_app.store.blocks import StoredNetwork
    from primitives.warp import CanonicalSet


class PlatformOfEvm:
    """The P-Chain of a node as its EVM chains see it.

    Args:
        network_id: The ID of its network.
        find: Returns the chain.
    """

    def __init__(self, network_id: int, find: "Callable[[], PlatformChain]") -> None:
        self._network_id = network_id
        self._find = find

    def least_time(self) -> int:
        """Return the P-Chain's time in Unix seconds, below which the clock of all chains cannot go."""
        from platform_app.chain import NoPlatformGenesis

        try:
            return self._find().tip().timestamp
        except NoPlatformGenesis:
            return 0

    def c_chain_id(self) -> ID:
        """Return the C-Chain's blockchain ID, from the P-Chain's genesis. Raises as `_network`."""
        return self._network().c_chain_id

    def atomic_parameters(self) -> AtomicParameters:
        """Return the values for transfers between the C-Chain and the other chains. Raises as `_network`."""
        network = self._network()
        return AtomicParameters(
            network_id=network.network_id,
            blockchain_id=network.c_chain_id,
            peers=frozenset({self._find().blockchain_id, network.x_chain_id}),
            asset_id=network.asset_id,
            wei_per_unit=WEI // network.unit,
        )

    def identity(self, blockchain_id: Callable[[], ID], subnet_id: ID) -> WarpIdentity:
        """Return who an EVM chain of a subnet is to other chains."""
        signers = partial(self._signers, subnet_id)
        return WarpIdentity(self._network_id, blockchain_id, signers)

    def _signers(
        self, receiver: ID, source: ID, p_chain_height: int | None, *, primary_network: bool
    ) -> "CanonicalSet":
        from platform_app.selectors.signers import signers_for

        return signers_for(
            self._find(), receiver, source, p_chain_height, primary_network=primary_network
        )

    def _network(self) -> "StoredNetwork":
        """Return the constants in the P-Chain's genesis.

        Raises:
            NoBlockchainID: There is no P-Chain yet.
        """
        from platform_app.chain import NoPlatformGenesis

        try:
            return self._find().network()
        except NoPlatformGenesis as error:
            raise NoBlockchainID from error


def genesis_of_network(
    node: CommonSettings, settings: EvmSettings, kept: Path
) -> Callable[[], bytes] | None:
    """Return what returns the C-Chain's genesis file of a network in which avalanchego nodes vote; None: it has no such.

    The P-Chain's genesis contains that file. A data directory that began with a C-Chain of its own keeps it, and
    NODE_GENESIS overrides it.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of the C-Chain.
        kept: Path of the genesis file that a local chain of this directory began with.
    """
    if node.parameters != "avalanchego" or not node.votes or settings.genesis or kept.exists():
        return None
    text = _in_platform_genesis(node)
    return None if text is None else lambda: text


def _in_platform_genesis(node: CommonSettings) -> bytes | None:
    """Return the C-Chain's file in the P-Chain's, if it is of the form that avalanchego's networks use."""
    from platform_app.genesis.building import read_genesis_config, reference_local_network
    from platform_app.genesis.errors import GenesisError

    try:
        if node.has_built_in_network:
            text = reference_local_network(0).c_chain_genesis
        elif node.platform_genesis:
            text = read_genesis_config(Path(node.platform_genesis).read_bytes()).c_chain_genesis
        else:
            return None
        return text.encode() if load_genesis(text).is_of_coreth else None
    except (OSError, GenesisError, GenesisFileError):  # the start reports it
        return None
