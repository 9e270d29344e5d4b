"""The validators that sign warp messages of a chain for the chain that receives them (etna.md 7.3, 12.5)."""

from enum import StrEnum

from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from platform_app.selectors.subnets import blockchain
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from primitives.warp import CanonicalSet, WarpError


class SourceReason(StrEnum):
    """Why a chain has no validators whose signatures count."""

    UNKNOWN_CHAIN = 'problem retrieving blockchain "{chain_id}": not found'


def signers_for(
    chain: PlatformChain,
    receiver: ID,
    source: ID,
    p_chain_height: int | None,
    *,
    primary_network: bool,
) -> CanonicalSet:
    """Return the validators whose signatures count for a chain of a subnet that receives a message.

    They are those of the source's subnet. Validators of any subnet follow the P-Chain, so those of the receiving subnet
    sign its messages; they also sign those of the Primary Network's other chains, unless these need its own validators.

    Args:
        chain: The P-Chain.
        receiver: The subnet of the chain that receives the message.
        source: The chain that sends it.
        p_chain_height: The height at which they are validators; None: the last accepted one.
        primary_network: Whether messages of the Primary Network's chains need its validators.

    Raises:
        WarpError: The source is no chain, the height is not accepted yet, or the weights do not fit into 64 bits.
    """
    subnet_id = receiver
    if source != P_CHAIN_ID:
        record = blockchain(chain, source)
        if record is None:
            raise WarpError(SourceReason.UNKNOWN_CHAIN, chain_id=source)
        if record.subnet_id != PRIMARY_NETWORK_ID or primary_network:
            subnet_id = record.subnet_id
    return stakers.signers_at(chain, subnet_id, p_chain_height)
