"""Messages of an L1's manager that this node signs in the manager's place, on the local network only.

The manager is a contract, and the validators of its chain sign the messages that it emits. On the local network this
node is the only validator of the Primary Network, so its signature alone is enough for a manager on the C-Chain. Then an
L1 can be tried out without a contract. On other networks a node that signs what no contract has said would break an L1.
"""

from platform_app.chain import PlatformChain
from platform_app.executor.warp import subnet_of
from platform_app.selectors import l1_validators, stakers
from platform_app.txs.warp import L1Message, build_l1_message
from platform_app.wallet.errors import WalletError, WalletReason
from primitives import bls
from primitives.ids import ID
from primitives.networks import LOCAL
from primitives.warp import AddressedCall, UnsignedMessage, WarpError, build_payload
from primitives.warp_aggregation import aggregate


def verify_permitted(chain: PlatformChain) -> None:
    """Check that this node may sign for managers.

    Raises:
        WalletError: The network is not the local one.
    """
    if chain.node.network_id != LOCAL:
        raise WalletError(WalletReason.MESSAGE_MISSING)


def sign_for_manager(chain: PlatformChain, subnet_id: ID, content: L1Message) -> bytes:
    """Return a signed message from the manager of an L1.

    Raises:
        WalletError: The network is not the local one; the subnet is no L1; this node alone is no quorum of the
            validators of the manager's chain.
        InvalidTx: The manager's chain does not exist.
    """
    verify_permitted(chain)
    conversion = l1_validators.conversion(chain, subnet_id)
    if conversion is None:
        raise WalletError(WalletReason.NOT_AN_L1, subnet_id=subnet_id)
    call = AddressedCall(conversion.manager_address, build_l1_message(content))
    message = UnsignedMessage(
        chain.node.network_id, conversion.manager_chain_id, build_payload(call)
    )
    env = chain.env(chain.network(), 0)
    signing_subnet = subnet_of(conversion.manager_chain_id, chain.state(), env)
    validators = stakers.signers_at(chain, signing_subnet, None)
    keys = chain.identity.keys
    signatures = {keys.bls_public_key: bls.sign(keys.bls_secret, message.raw)}
    try:
        return aggregate(message, validators, signatures)
    except WarpError as cause:
        raise WalletError(WalletReason.NO_QUORUM, cause=cause) from cause
