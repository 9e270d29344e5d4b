"""The initial data of a local network's nodes: their directories, created once, and their settings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from cchain_app.local_genesis import local_text
from nodeproject.processes.local_network.status import Quorum, in_words
from nodeproject.startup.identity import make_files
from platform_app.config import specification_config
from platform_app.genesis.building import Founder, own_network
from platform_app.genesis.config import format_genesis_config, parse_genesis_config
from platform_app.txs.base import ProofOfPossession
from primitives.ids import NodeID
from primitives.networks import LOCAL
from primitives.node_identity import IdentityFiles
from primitives.whole_files import write_whole

FIRST_HTTP_PORT = 9650
"""Each node has two ports: HTTP, and after it the one for peers."""

EACH_ITS_OWN: Final = frozenset(
    {
        "NODE_PROFILE", "NODE_NETWORK_ID", "NODE_DATA_DIR", "NODE_GENESIS", "NODE_PLATFORM_GENESIS",
        "NODE_PARAMETERS", "NODE_CHAIN_ID", "NODE_STAKING_CERT_FILE", "NODE_STAKING_KEY_FILE",
        "NODE_SIGNER_KEY_FILE", "NODE_SECRET_KEY_FILE", "NODE_HTTP_HOST", "NODE_HTTP_PORT",
        "NODE_STAKING_HOST", "NODE_STAKING_PORT", "NODE_PUBLIC_IP", "NODE_BOOTSTRAP",
        "NODE_PRODUCER", "NODE_CONSENSUS", "NODE_NETWORK", "NODE_DATABASE_URL", "NODE_REDIS_URL",
        "NODE_IPC", "NODE_MNEMONIC_RANDOM",
    }
)  # fmt: skip
"""Variables that define the network, or that several nodes cannot share. All others are passed to the nodes."""


class Files(NamedTuple):
    """The genesis files of the network."""

    cchain: Path
    platform: Path

    @classmethod
    def below(cls, directory: Path) -> Self:
        """Return the paths of the files in the network's directory."""
        return cls(directory / "cchain.json", directory / "platform.json")


class LocalNode(NamedTuple):
    """One of the nodes."""

    directory: Path
    node_id: NodeID
    http_port: int
    staking_port: int

    @property
    def url(self) -> str:
        """The base of its URLs."""
        return f"http://127.0.0.1:{self.http_port}"


def prepare(directory: Path, count: int, *, now: int, first_port: int) -> list[LocalNode]:
    """Create the nodes' directories and the network's genesis if they are missing.

    Args:
        directory: The directory of the whole network.
        count: The number of nodes.
        now: Unix seconds, at which a new network begins.
        first_port: The first node's HTTP port.
    """
    homes = [directory / f"node{place}" for place in range(1, count + 1)]
    node_ids = begin(directory, homes, now=now)
    ports = range(first_port, first_port + 2 * count, 2)
    return [
        LocalNode(home, node_id, port, port + 1)
        for home, node_id, port in zip(homes, node_ids, ports, strict=True)
    ]


def begin(directory: Path, homes: Sequence[Path], *, now: int) -> list[NodeID]:
    """Create keys in data directories, and the genesis of a network that their nodes validate.

    Returns:
        The node IDs, in the order of the directories.
    """
    files = Files.below(directory)
    node_ids = make_keys(homes, now=now)
    if not files.platform.exists():
        signers = [ProofOfPossession(*IdentityFiles.below(home).signer_key) for home in homes]
        _write_genesis(files, map(Founder, node_ids, signers), now)
    return node_ids


def make_keys(homes: Sequence[Path], *, now: int) -> list[NodeID]:
    """Create the missing keys of nodes in their data directories; return the node IDs."""
    identities = [IdentityFiles.below(home) for home in homes]
    for home, identity in zip(homes, identities, strict=True):
        make_files(home, identity, now)
    return [identity.node_id for identity in identities]


def settings_of(
    directory: Path, nodes: Sequence[LocalNode], place: int, *, votes: bool
) -> dict[str, str]:
    """Return the environment of one of the nodes.

    Args:
        directory: The directory of the whole network.
        nodes: All nodes.
        place: The index of the node.
        votes: Whether the validators vote on blocks; otherwise the first node produces all blocks.
    """
    node, first, files = nodes[place], nodes[0], Files.below(directory)
    # A single producer has all blocks, so the other nodes, which begin empty, only need to follow it.
    known = [item for item in nodes if item is not node] if votes else [first]
    others = [f"127.0.0.1:{other.staking_port}" for other in known]
    return {
        "NODE_DATA_DIR": str(node.directory),
        "NODE_NETWORK_ID": str(LOCAL),
        "NODE_HTTP_PORT": str(node.http_port),
        "NODE_STAKING_PORT": str(node.staking_port),
        "NODE_GENESIS": str(files.cchain),
        "NODE_PLATFORM_GENESIS": str(files.platform),
        "NODE_CONSENSUS": "snowman" if votes else "sole",
        "NODE_PRODUCER": "" if votes else str(first.node_id),
        "NODE_BOOTSTRAP": ",".join(others) if votes or node is not first else "",
    }


def environment(caller: Mapping[str, str], node: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a node: its own settings, and the caller's variables that all nodes may share."""
    return {**{name: caller[name] for name in caller.keys() - EACH_ITS_OWN}, **node}


def ignored(caller: Mapping[str, str], node: Mapping[str, str]) -> list[str]:
    """Return the caller's variables that have no effect; the data directory has one, as the network's parent."""
    own = EACH_ITS_OWN - {"NODE_DATA_DIR"}
    return sorted(name for name in own & caller.keys() if caller[name] != node.get(name))


def validators(directory: Path) -> frozenset[NodeID]:
    """Return the validators of the network's genesis."""
    config = parse_genesis_config(json.loads(Files.below(directory).platform.read_text()))
    return frozenset(staker.node_id for staker in config.stakers)


def remarks(nodes: Sequence[LocalNode], founders: frozenset[NodeID], quorum: Quorum) -> list[str]:
    """Return remarks on nodes that are not exactly the network's first validators, or too few to lose one.

    Args:
        nodes: The nodes that run.
        founders: The first validators, of equal stakes.
        quorum: The stake needed for a decision.
    """
    running = sum(node.node_id in founders for node in nodes)
    others = [str(place) for place, node in enumerate(nodes, 1) if node.node_id not in founders]
    began = f"This network began with {len(founders)} validator{'s' if len(founders) > 1 else ''}"
    said = []
    if running < len(founders):
        missing = "their stake is missing, and the health check P fails below 80 %"
        said.append(f"{began}, of which {running} {'runs' if running == 1 else 'run'}: {missing}.")
    if others:
        names = f"node{'s' if len(others) > 1 else ''} {', '.join(others)}"
        said.append(
            f"{began}: {names} {'are none, and follow' if len(others) > 1 else 'is none, and follows'}."
        )
    fragile = running > 1 and not quorum.spare([1] * running, running)
    if not quorum.sole and (running < len(founders) or fragile):
        stakes = {str(node_id): 1 for node_id in founders}
        said.append(in_words(quorum, stakes, {str(node.node_id) for node in nodes}))
    return said


def _write_genesis(files: Files, founders: Iterable[Founder], now: int) -> None:
    cchain = json.dumps(json.loads(local_text()) | {"timestamp": hex(now)}, indent=2)
    write_whole(files.cchain, cchain.encode())
    config = own_network(
        specification_config(LOCAL), list(founders), start_time=now, c_chain_genesis=cchain
    )
    # Written last, because the existence of this file means that the network has begun.
    write_whole(files.platform, format_genesis_config(config).encode())
