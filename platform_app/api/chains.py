"""The chain's height and time, and the subnets with their owners and blockchains."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from chaindb import clock
from chaindb.chains import C_CHAIN, is_left_out
from platform_app.api import params
from platform_app.api.errors import NOT_FOUND, refused, saying, shortened
from platform_app.api.params import quoted
from platform_app.api.presence import own_node_id
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, moment
from platform_app.selectors import accepted, l1_validators, stakers, subnets
from platform_app.selectors.subnets import BlockchainRecord, SubnetRecord
from primitives.cb58 import Cb58Error
from primitives.ids import (
    AVM_ID,
    EMPTY_ID,
    EVM_ID,
    ID,
    NFT_FX_ID,
    PLATFORM_VM_ID,
    PRIMARY_NETWORK_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
    WrongIdLength,
)

PROPOSAL_LAG: Final = 64
"""Maximum number of blocks by which the proposed height is behind the tip."""
PROPOSAL_SECONDS: Final = 30
"""A younger block may not have reached all nodes yet."""


def get_height(rpc: PlatformRpc) -> Json:
    """platform.getHeight: the height of the last accepted block."""
    return {"height": str(rpc.chain.tip().height)}


def get_proposed_height(rpc: PlatformRpc) -> Json:
    """platform.getProposedHeight: the P-Chain height that proposers of any chain's blocks may refer to."""
    return {"height": str(proposed_height(rpc))}


def proposed_height(rpc: PlatformRpc) -> int:
    """Return the last height older than half a minute, but not too far behind the tip.

    Unspecified: the reference uses the time when it accepted a block; here it is the block's own time.
    """
    settled = accepted.height_at(rpc.chain, clock.now() - PROPOSAL_SECONDS) or 0
    return max(settled, rpc.chain.tip().height - PROPOSAL_LAG)


def get_timestamp(rpc: PlatformRpc) -> Json:
    """platform.getTimestamp: the chain's time."""
    return {"timestamp": moment(rpc.chain.tip().timestamp)}


def get_blockchains(rpc: PlatformRpc) -> Json:
    """platform.getBlockchains: all blockchains except the P-Chain itself.

    Unspecified: the X-Chain and the C-Chain come first, then those of subnets, in the order of their
    creation (gaps.md 3). NODE_PARAMETERS=avalanchego selects the reference's order: the blockchains of subnets, by
    subnet, then the C-Chain and the X-Chain.
    """
    return {
        "blockchains": [
            _blockchain_json(blockchain) for blockchain in subnets.blockchains(rpc.chain)
        ]
    }


def get_blockchain_status(rpc: PlatformRpc, blockchain_id: str) -> Json:
    """platform.getBlockchainStatus: the status of a blockchain on this node.

    Unspecified: chains that this node does not run are Created. No transaction
    created the P-Chain itself, so it is Syncing even on a validator, as in the reference. The status Preferred
    never occurs, because a block is accepted as soon as it is built. The C-Chain is Created too if NODE_CHAINS
    leaves it out; the reference would return Syncing.
    """
    if not blockchain_id:
        raise refused("argument 'blockchainID' not given")
    known = params.find_chain_id(rpc.chain, blockchain_id)
    if known is not None and known == rpc.chain.network().c_chain_id and is_left_out(C_CHAIN):
        return {"status": "Created"}
    if known is not None:
        return {"status": "Validating" if _is_validated_here(rpc, known) else "Syncing"}
    with saying(f"problem parsing blockchainID {quoted(blockchain_id)}"):
        parsed = ID.parse(blockchain_id)
    if rpc.runs(parsed):
        return {"status": "Validating" if _is_validated_here(rpc, parsed) else "Syncing"}
    return {"status": "Unknown" if subnets.blockchain(rpc.chain, parsed) is None else "Created"}


def validated_by(rpc: PlatformRpc, blockchain_id: ID) -> Json:
    """platform.validatedBy: the subnet that validates a blockchain."""
    if blockchain_id == PRIMARY_NETWORK_ID:
        return {"subnetID": str(PRIMARY_NETWORK_ID)}
    blockchain = subnets.blockchain(rpc.chain, blockchain_id)
    if blockchain is not None:
        return {"subnetID": str(blockchain.subnet_id)}
    if accepted.tx(rpc.chain, blockchain_id) is not None:
        raise refused(f'"{blockchain_id}" is not a blockchain')
    raise refused(f'problem retrieving blockchain "{blockchain_id}": {NOT_FOUND}')


def validates(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.validates: the blockchains that a subnet validates, without the P-Chain."""
    if subnet_id != PRIMARY_NETWORK_ID and subnets.subnet(rpc.chain, subnet_id) is None:
        if accepted.tx(rpc.chain, subnet_id) is not None:
            raise refused(f'"{subnet_id}" is not a subnet')
        raise refused(f'problem retrieving subnet "{subnet_id}": {NOT_FOUND}')
    blockchains = subnets.blockchains(rpc.chain, subnet_id)
    return {"blockchainIDs": [str(blockchain.blockchain_id) for blockchain in blockchains]}


def _is_validated_here(rpc: PlatformRpc, blockchain_id: ID) -> bool:
    own = own_node_id(rpc.chain)
    blockchain = subnets.blockchain(rpc.chain, blockchain_id)
    if own is None or blockchain is None:
        return False
    return own in stakers.current_members(rpc.chain, blockchain.subnet_id)


def _blockchain_json(blockchain: BlockchainRecord) -> Json:
    return {
        "id": str(blockchain.blockchain_id),
        "name": blockchain.name,
        "subnetID": str(blockchain.subnet_id),
        "vmID": str(blockchain.vm_id),
    }


_VMS: Final[Mapping[str, ID]] = {
    "platform": PLATFORM_VM_ID,
    "avm": AVM_ID,
    "evm": EVM_ID,
    "subnetevm": ID.of_name("subnetevm"),
    "xsvm": ID.of_name("xsvm"),
}
_FXS: Final[Mapping[str, ID]] = {
    "secp256k1fx": SECP256K1_FX_ID,
    "nftfx": NFT_FX_ID,
    "propertyfx": PROPERTY_FX_ID,
}


def vm_id_of(name: str) -> ID:
    """Return the ID of a virtual machine from its name or its ID as a string.

    Raises:
        JsonRpcError: -32000, the string is neither.
    """
    vm_id = _find(_VMS, name)
    if vm_id is None:
        raise refused(f"no VM with ID '{shortened(name)}' found")
    return vm_id


def fx_id_of(name: str) -> ID:
    """Return the ID of a feature extension from its name or its ID as a string.

    Raises:
        JsonRpcError: -32000, the string is neither.
    """
    fx_id = _find(_FXS, name)
    if fx_id is None:
        raise refused(f"no FX with ID '{shortened(name)}' found")
    return fx_id


def _find(known: Mapping[str, ID], name: str) -> ID | None:
    if name in known:
        return known[name]
    try:
        return ID.parse(name)
    except (Cb58Error, WrongIdLength):
        return None


_encode: Final = msgspec.json.Encoder().encode

_PRIMARY_NETWORK: Final[Json] = {
    "id": str(PRIMARY_NETWORK_ID),
    "controlKeys": [],
    "threshold": "0",
}


def get_subnets(rpc: PlatformRpc, ids: Sequence[ID]) -> Json:
    """platform.getSubnets: all subnets, or the existing ones of the given IDs.

    Unspecified: all subnets are in order of creation, with the Primary Network last; an empty list of IDs
    means all subnets (gaps.md 3).
    """
    if not ids:
        return {
            "subnets": [
                *(_subnet_json(rpc, subnet) for subnet in subnets.subnets(rpc.chain)),
                _PRIMARY_NETWORK,
            ]
        }
    created = subnets.subnets(
        rpc.chain, [subnet_id for subnet_id in ids if subnet_id != PRIMARY_NETWORK_ID]
    )
    known = {subnet.subnet_id: _subnet_json(rpc, subnet) for subnet in created}
    known[PRIMARY_NETWORK_ID] = _PRIMARY_NETWORK
    return {"subnets": [known[subnet_id] for subnet_id in dict.fromkeys(ids) if subnet_id in known]}


def get_subnet(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getSubnet: one subnet, permissioned unless it was converted to an L1."""
    if subnet_id == PRIMARY_NETWORK_ID:
        raise refused("the primary network isn't a subnet")
    subnet = subnets.subnet(rpc.chain, subnet_id)
    if subnet is None:
        raise refused(NOT_FOUND)
    conversion = l1_validators.conversion(rpc.chain, subnet_id)
    return {
        "isPermissioned": conversion is None,
        "controlKeys": _control_keys_of(rpc, subnet),
        "threshold": str(subnet.threshold),
        "locktime": str(subnet.locktime),
        "subnetTransformationTxID": str(EMPTY_ID),
        "conversionID": str(conversion.conversion_id if conversion else EMPTY_ID),
        "managerChainID": str(conversion.manager_chain_id if conversion else EMPTY_ID),
        "managerAddress": "0x" + conversion.manager_address.hex() if conversion else None,
    }


def _subnet_json(rpc: PlatformRpc, subnet: SubnetRecord) -> Json:
    return {
        "id": str(subnet.subnet_id),
        "controlKeys": _control_keys_of(rpc, subnet),
        "threshold": str(subnet.threshold),
    }


def _control_keys_of(rpc: PlatformRpc, subnet: SubnetRecord) -> msgspec.Raw:
    """Return a subnet's control keys as a JSON array, cached because rendering thousands of them is slow."""

    def render() -> bytes:
        text: bytes = _encode([rpc.address(address) for address in subnet.owner.addresses])
        return text

    return msgspec.Raw(rpc.control_keys.of(subnet.raw_owner, render))
