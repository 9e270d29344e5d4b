"""The `info.*` methods, served at `/ext/info` (specification 4.2; pchain.md 8.5).

As in the reference, no parameter is required and unknown ones are ignored: one SDK asks for its node's address by
calling info.getBlockchainID without params and expects the reference's error, another passes a chain to info.peers
and expects all peers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec
from msgspec import Raw

from chaindb.chains import C_CHAIN, P_CHAIN, NodeChain
from info_app import selectors
from info_app.go_texts import moment_text
from info_app.selectors import PeerRecord
from info_app.version import COMMIT, PRODUCT, RPC_PROTOCOL
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import JsonRpcError
from network_app.apps import node_network
from platform_app.api import errors, params
from platform_app.api.answers import CachedAnswers
from platform_app.api.errors import refused, shortened
from platform_app.api.wire import Json, four_digits
from platform_app.apps import platform_chain
from primitives.hexadecimal import encode_data
from primitives.ids import (
    AVM_ID,
    EMPTY_NODE_ID,
    EVM_ID,
    ID,
    NFT_FX_ID,
    PLATFORM_VM_ID,
    PRIMARY_NETWORK_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
    NodeID,
)
from primitives.networks import name_of
from primitives.node_identity import IdentityError, IdentityFiles

REPORTED_SECONDS: Final = 1.0
"""Time for which reports of the network process and the database version are cached."""
BOOTSTRAPPED_SECONDS: Final = 0.1
"""The same for the state of a chain's initial sync; shorter, because clients poll it."""

_VMS: Final = {
    AVM_ID: "avm",
    EVM_ID: "evm",
    PLATFORM_VM_ID: "platform",
    ID.of_name("subnetevm"): "subnetevm",
}
_FXS: Final = {NFT_FX_ID: "nftfx", PROPERTY_FX_ID: "propertyfx", SECP256K1_FX_ID: "secp256k1fx"}


class NoIdentity(Exception):
    """The files with this node's identity are missing or invalid."""

    def __init__(self) -> None:
        super().__init__("this node has no identity yet: run init_node to create its keys")


class OwnNode:
    """The values that differ between nodes of a network.

    Args:
        identity: The node's identity.
        vm_versions: Versions of its virtual machines by name.
    """

    def __init__(self, identity: IdentityFiles, vm_versions: Mapping[str, str]) -> None:
        self._identity = identity
        self._vm_versions = vm_versions

    def get_node_id(self) -> Raw:
        """info.getNodeID: the node's ID, and its BLS key with the proof that it is the node's own."""
        try:
            return self._shown_id
        except (OSError, IdentityError) as error:
            raise NoIdentity from error

    @cached_property
    def _shown_id(self) -> Raw:
        """The answer, which never changes once it was computed."""
        node_id, signer = self._identity.node_id, self._identity.signer_key
        fields = {
            "nodeID": str(node_id),
            "nodePOP": {
                "publicKey": encode_data(signer.public_key),
                "proofOfPossession": encode_data(signer.proof_of_possession),
            },
        }
        return Raw(msgspec.json.encode(fields))

    def get_node_version(self) -> Json:
        """info.getNodeVersion: versions of the node, its database and its virtual machines, and its commit."""
        return {
            "version": PRODUCT,
            "databaseVersion": selectors.database_version(platform_chain().db),
            "rpcProtocolVersion": str(RPC_PROTOCOL),
            "gitCommit": COMMIT,
            "vmVersions": dict(self._vm_versions),
        }


def get_node_ip() -> Json:
    """info.getNodeIP: the address at which peers can reach this node."""
    return {"ip": selectors.advertised_address(node_network().settings)}


def get_network_id() -> Json:
    """info.getNetworkID: the network's ID."""
    return {"networkID": str(platform_chain().config.network_id)}


def get_network_name() -> Json:
    """info.getNetworkName: the network's name."""
    return {"networkName": name_of(platform_chain().config.network_id)}


def get_tx_fee() -> Json:
    """info.getTxFee: the static fees by kind of transaction, in the smallest unit."""
    fees = platform_chain().config.fees
    return {
        "txFee": str(fees.tx),
        "createAssetTxFee": str(fees.create_asset),
        "createSubnetTxFee": str(fees.create_subnet),
        "transformSubnetTxFee": str(fees.transform_subnet),
        "createBlockchainTxFee": str(fees.create_blockchain),
        "addPrimaryNetworkValidatorFee": str(fees.add_primary_network_validator),
        "addPrimaryNetworkDelegatorFee": str(fees.add_primary_network_delegator),
        "addSubnetValidatorFee": str(fees.add_subnet_validator),
        "addSubnetDelegatorFee": str(fees.add_subnet_delegator),
    }


def get_vms() -> Json:
    """info.getVMs: the virtual machines of this node by ID, and the feature extensions of the X-Chain's VM."""
    return {
        "vms": {str(vm_id): [name] for vm_id, name in _VMS.items()},
        "fxs": {str(fx_id): name for fx_id, name in _FXS.items()},
    }


def get_blockchain_id(alias: str) -> Json:
    """info.getBlockchainID: the ID of a chain.

    Unspecified: chains that this node does not take part in have one too, as in the reference's partial sync.
    """
    blockchain_id = params.find_chain_id(platform_chain(), alias)
    if blockchain_id is None and (further := _further_chain(alias)) is not None:
        blockchain_id = further.blockchain_id
    if blockchain_id is None:
        raise refused(f"there is no ID with alias: {shortened(alias)}")
    return {"blockchainID": str(blockchain_id)}


def is_bootstrapped(chain_name: str) -> Json:
    """info.isBootstrapped: whether a chain has finished its initial sync.

    Unspecified: false for a chain that NODE_CHAINS leaves out, as in the reference's partial sync, and for a
    chain that is stuck at a block which the network has accepted and this node rejects.
    """
    if not chain_name:
        raise refused("argument 'chain' not given")
    name = _name_of(chain_name)
    if name is None:
        raise refused(f"there is no chain with alias/ID '{shortened(chain_name)}'")
    return {"isBootstrapped": selectors.is_bootstrapped(name)}


def _name_of(text: str) -> str | None:
    """Return the name of the chain with an alias or ID, or None."""
    blockchain_id = params.find_chain_id(platform_chain(), text)
    if blockchain_id is None:
        further = _further_chain(text)
        return None if further is None else further.name
    network = platform_chain().network()
    return {network.x_chain_id: "X", network.c_chain_id: C_CHAIN}.get(blockchain_id, P_CHAIN)


def _further_chain(text: str) -> NodeChain | None:
    """Return the chain besides those of the Primary Network with an alias or ID, or None."""
    return next((chain for chain in node_network().evm_chains[1:] if chain.is_named(text)), None)


EXPECTED: Final[tuple[type[Exception], ...]] = (NoIdentity,)
"""Expected besides those of the P-Chain's API, which the methods about chains and validators raise."""


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected failure, None for an unexpected one."""
    if isinstance(error, EXPECTED):
        return refused(str(error))
    return errors.to_error_object(error)


def peers(node_ids: Sequence[NodeID]) -> Json:
    """info.peers: the connected peers, all of them or those among the given nodes."""
    connected = selectors.peers(node_ids)
    return {"numPeers": str(len(connected)), "peers": [_to_json(peer) for peer in connected]}


def uptime() -> Json:
    """info.uptime: this node's uptime as its peers report it, weighted by their stake, in percent."""
    uptime = selectors.uptime(platform_chain())
    if uptime is None:
        raise refused("couldn't get node uptime: node is not a validator")
    return {
        "rewardingStakePercentage": four_digits(uptime.rewarding_stake),
        "weightedAveragePercentage": four_digits(uptime.weighted_average),
    }


def _to_json(peer: PeerRecord) -> Json:
    """Return a peer as JSON; its upgrade time is a plain number, as in the reference."""
    primary = str(PRIMARY_NETWORK_ID)
    others = [subnet_id for subnet_id in peer.tracked_subnets if subnet_id != primary]
    return {
        "ip": peer.ip,
        "publicIP": peer.public_ip,
        "nodeID": str(peer.node_id),
        "version": peer.version,
        "upgradeTime": peer.upgrade_time,
        "lastSent": moment_text(peer.last_sent),
        "lastReceived": moment_text(peer.last_received),
        "observedUptime": str(peer.observed_uptime),
        # Every node tracks the Primary Network, but handshakes do not list it.
        "trackedSubnets": [primary, *others],
        "supportedACPs": list(peer.supported_acps),
        "objectedACPs": list(peer.objected_acps),
        "benched": list(peer.benched),
    }


def upgrades() -> Json:
    """info.upgrades: the activation time of each upgrade."""
    return node_network().upgrades.as_json()


def acps() -> Json:
    """info.acps: how much stake of connected peers supports and opposes each proposal they name.

    Unspecified: this node has no opinion of its own, so its stake abstains.
    """
    return {"acps": tally(selectors.peers(), selectors.weights(platform_chain()))}


def tally(peers: Iterable[PeerRecord], weights: Mapping[NodeID, int]) -> dict[str, Json]:
    """Return the opinions of validating peers by the number of the proposal."""
    supporters: dict[int, list[NodeID]] = defaultdict(list)
    objectors: dict[int, list[NodeID]] = defaultdict(list)
    for peer in peers:
        if peer.node_id not in weights:
            continue
        for number in peer.supported_acps:
            supporters[number].append(peer.node_id)
        for number in peer.objected_acps:
            objectors[number].append(peer.node_id)
    total = sum(weights.values())
    votes = {}
    for number in sorted({*supporters, *objectors}):
        support = sum(weights[supporter] for supporter in supporters[number])
        objection = sum(weights[objector] for objector in objectors[number])
        votes[str(number)] = {
            "supportWeight": str(support),
            "supporters": [str(supporter) for supporter in supporters[number]],
            "objectWeight": str(objection),
            "objectors": [str(objector) for objector in objectors[number]],
            "abstainWeight": str(max(0, total - support - objection)),
        }
    return votes


def methods(own: OwnNode, answers: CachedAnswers) -> MethodRegistry:
    """Return the `info.*` methods of a node.

    Args:
        own: The node.
        answers: The cache of its P-Chain's answers.
    """
    table = MethodRegistry(to_error_object)
    _node(table, own, answers)
    _chains(table, answers)
    _network(table)
    return table


def _node(methods: MethodRegistry, own: OwnNode, answers: CachedAnswers) -> None:
    def add_reported(name: str, handler: Callable[..., object]) -> None:
        methods.add(name, answers.kept(name, handler, REPORTED_SECONDS), hot=True)

    methods.add("info.getNodeID", own.get_node_id, hot=True)
    add_reported("info.getNodeVersion", own.get_node_version)
    add_reported("info.getNodeIP", get_node_ip)
    methods.add("info.getNetworkID", get_network_id, hot=True)
    methods.add("info.getNetworkName", get_network_name, hot=True)
    methods.add("info.getTxFee", get_tx_fee, hot=True)
    methods.add("info.getVMs", get_vms, hot=True)


def _chains(methods: MethodRegistry, answers: CachedAnswers) -> None:
    methods.add(
        "info.getBlockchainID",
        answers.kept("info.getBlockchainID", get_blockchain_id),
        params=[Param("alias", params.text, "")],
        hot=True,
    )
    methods.add(
        "info.isBootstrapped",
        answers.kept("info.isBootstrapped", is_bootstrapped, BOOTSTRAPPED_SECONDS),
        params=[Param("chain", params.text, "")],
        hot=True,
    )


def _network(methods: MethodRegistry) -> None:
    nodes = params.few_of("node IDs", params.node_id, EMPTY_NODE_ID)
    methods.add("info.peers", peers, params=[Param("nodeIDs", nodes, ())])
    methods.add("info.uptime", uptime)
    methods.add("info.upgrades", upgrades, hot=True)
    methods.add("info.acps", acps)
