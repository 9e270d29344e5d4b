"""First start of a node that joins a network: it requests the genesis from the nodes that it follows.

Their answer is written to files in the data directory, where the chains find it, with the producer of all blocks
that they name (`producer`). Operators who do not want to trust these nodes set NODE_PLATFORM_GENESIS, NODE_GENESIS
and NODE_PRODUCER instead.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from cchain_app.chain import EvmChain
from cchain_app.genesis import load_genesis
from cchain_app.genesis_fields import GenesisFileError
from network_app import producer
from network_app.addresses import bootstrappers
from network_app.config import NetworkConfig
from network_app.node import NodeNetwork
from network_app.ports import ValidatorInfo
from network_app.sync.errors import UnusableGenesis
from platform_app.genesis.errors import GenesisError
from platform_app.genesis.genesis import parse_genesis
from primitives.codec_errors import CodecError
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.networks import MAINNET, TESTNET
from primitives.reasons import ErrorWithReason
from primitives.whole_files import to_disk, write_whole

if TYPE_CHECKING:  # few starts ask other nodes
    from network_app.sync.genesis import GenesisAnswer

PATIENCE = 60.0
"""Seconds to wait for a node that answers."""


class JoinReason(StrEnum):
    """A reason why this node cannot join the network of its bootstrappers."""

    NOBODY_ANSWERS = (
        "none of {names} has sent the network's genesis within {seconds:.0f} s: check that they "
        "run and are on this network, or set NODE_PLATFORM_GENESIS and NODE_GENESIS{known}"
    )
    VALIDATORS_VOTE = (
        "the validators of this network vote on its blocks: set NODE_CONSENSUS=snowman"
    )
    ONE_PRODUCER = "one node makes all blocks of this network: set NODE_CONSENSUS=sole"


class CannotJoin(ErrorWithReason):
    """The network's genesis cannot be fetched, or NODE_CONSENSUS is not the network's."""


def fetch_genesis(network: NodeNetwork) -> None:
    """Fetch the genesis of a node's network, unless it is configured, built in, or already stored.

    Raises:
        MalformedAddress: An entry of NODE_BOOTSTRAP is not IP:PORT.
        CannotJoin: No node has sent a usable genesis, or the network uses another consensus than this node.
    """
    node = network.common
    is_known = node.platform_genesis or node.has_built_in_network
    if not node.bootstrap or is_known or node.genesis_directory.exists():
        return
    answer = asyncio.run(_ask(network))
    if answer.producer and (answer.producer == producer.VALIDATORS) != node.votes:
        votes = not node.votes
        raise CannotJoin(JoinReason.VALIDATORS_VOTE if votes else JoinReason.ONE_PRODUCER)
    files = {"platform.bin": answer.platform, "cchain.json": answer.cchain}
    if answer.producer and not node.votes:
        files[network.producer.received_path.name] = answer.producer.encode()
    _write(node.genesis_directory, files)
    network.evm_chain.read_genesis_again()
    network.producer.read_again()


def check_genesis(answer: "GenesisAnswer", network_id: int, chain_id: int | None) -> None:
    """Check that a node of this network can start with a genesis from another node.

    Args:
        answer: The other node's answer.
        network_id: The network.
        chain_id: The chain ID of its C-Chain, if known.

    Raises:
        UnusableGenesis: The genesis is malformed, or belongs to another network.
    """
    try:
        platform = parse_genesis(answer.platform)
        cchain = load_genesis(answer.cchain)
        if answer.producer not in {"", producer.VALIDATORS}:
            producer.named(answer.producer)
    except (CodecError, GenesisError, GenesisFileError) as error:
        raise UnusableGenesis(str(error)) from error
    except producer.MalformedProducer as error:
        raise UnusableGenesis(f"it names {error.text!r} for a producer") from error
    if platform.network_id != network_id:
        raise UnusableGenesis(f"it is of network {platform.network_id}, not {network_id}")
    received = cchain.config.chain_id
    if chain_id is not None and received != chain_id:
        raise UnusableGenesis(f"its C-Chain has chain ID {received}, not {chain_id}")


def _known_chain_id(chain: EvmChain) -> int | None:
    """Return the chain ID from the settings or the network; None if only the genesis specifies it."""
    given = chain.settings
    if given.genesis or given.chain_id or chain.node.network_id in {MAINNET, TESTNET}:
        return chain.own_genesis.config.chain_id
    return None


class _NoPeersKnown:
    """Placeholder for the validators of a network whose genesis is not known yet."""

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        del subnet_id
        return {}

    def uptime_of(self, node_id: NodeID) -> int:
        del node_id
        return 0


async def _ask(network: NodeNetwork) -> "GenesisAnswer":
    """Connect to the bootstrappers and return the first usable answer."""
    from network_app.peers.network import PeerNetwork
    from network_app.sync.genesis import GenesisFetcher

    node = network.common
    network_id, chain_id = node.network_id, _known_chain_id(network.evm_chain)
    fetcher = GenesisFetcher(lambda answer: check_genesis(answer, network_id, chain_id))
    peers = PeerNetwork(
        network.identity,
        NetworkConfig(network_id=network_id, upgrade_time=network.upgrades.latest),
        _NoPeersKnown(),
        listen=("127.0.0.1", 0),
        advertised=("127.0.0.1", network.settings.staking_port),
        tracked=bootstrappers(node),
    )
    await peers.start(fetcher)
    try:
        async with asyncio.timeout(PATIENCE):
            return await fetcher.fetch(peers)
    except TimeoutError:
        causes = [*peers.dial_failures(), *fetcher.refused.values()]
        raise CannotJoin(
            JoinReason.NOBODY_ANSWERS,
            names=", ".join(node.bootstrap),
            seconds=PATIENCE,
            known="".join(f"\n  {cause}" for cause in causes),
        ) from None
    finally:
        await peers.stop()


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write all files or none, by renaming a complete directory."""
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=directory.parent))
    try:
        for name, content in files.items():
            write_whole(unfinished / name, content)
        unfinished.rename(directory)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    to_disk(directory.parent)
