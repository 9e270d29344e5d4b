"""The genesis of the C-Chain of a network of avalanchego nodes, from that of its P-Chain."""

from collections.abc import Callable
from pathlib import Path

from cchain_app.genesis import load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.settings import EvmSettings
from platform_app.genesis.building import read_genesis_config, reference_local_network
from platform_app.genesis.errors import GenesisError
from primitives.settings import CommonSettings


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
