"""What a node says of itself: who it is, what it runs, on which network, and what that costs."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings

from info_app import selectors
from info_app.commit import COMMIT
from info_app.identity import IdentityFiles
from info_app.version import PRODUCT, RPC_PROTOCOL
from platform_app.api.wire import Json
from platform_app.apps import platform_chain
from primitives.hexadecimal import encode_data
from primitives.ids import (
    AVM_ID,
    EVM_ID,
    NFT_FX_ID,
    PLATFORM_VM_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
)
from primitives.networks import name_of

_VMS: Final = {AVM_ID: "avm", EVM_ID: "evm", PLATFORM_VM_ID: "platform"}
_FXS: Final = {NFT_FX_ID: "nftfx", PROPERTY_FX_ID: "propertyfx", SECP256K1_FX_ID: "secp256k1fx"}


class OwnNode:
    """What differs from one node of a network to the next.

    Args:
        files: who it is.
        vm_versions: of its virtual machines, by their names.
    """

    def __init__(self, files: IdentityFiles, vm_versions: Mapping[str, str]) -> None:
        self._files = files
        self._vm_versions = vm_versions

    def get_node_id(self) -> Json:
        """info.getNodeID: the node's ID, and its BLS key with the proof that it is the node's own."""
        own = self._files.identity()
        return {
            "nodeID": str(own.node_id),
            "nodePOP": {
                "publicKey": encode_data(own.public_key),
                "proofOfPossession": encode_data(own.proof_of_possession),
            },
        }

    def get_node_version(self) -> Json:
        """info.getNodeVersion: versions of the node, its tables, its virtual machines; its commit."""
        return {
            "version": PRODUCT,
            "databaseVersion": selectors.database_version(),
            "rpcProtocolVersion": str(RPC_PROTOCOL),
            "gitCommit": COMMIT,
            "vmVersions": dict(self._vm_versions),
        }


def get_node_ip() -> Json:
    """info.getNodeIP: where peers are told to find this node."""
    return {"ip": selectors.advertised_address()}


def get_network_id() -> Json:
    """info.getNetworkID: the network's number."""
    return {"networkID": str(settings.NODE.network_id)}


def get_network_name() -> Json:
    """info.getNetworkName: the network's name."""
    return {"networkName": name_of(settings.NODE.network_id)}


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
    """info.getVMs: the virtual machines of this node by ID, and the extensions of the X-Chain's."""
    return {
        "vms": {str(vm_id): [name] for vm_id, name in _VMS.items()},
        "fxs": {str(fx_id): name for fx_id, name in _FXS.items()},
    }
