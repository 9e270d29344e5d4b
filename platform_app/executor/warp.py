"""The check of the warp messages in transactions (etna.md 7.3): their source's validators have signed them.

The validators are those at the P-Chain height of the block's context, so the result can change from block to block.
"""

from enum import StrEnum

from platform_app.config import Env
from platform_app.state.chain import ChainState
from platform_app.txs.base import UnsignedTx
from platform_app.txs.l1 import RegisterL1ValidatorTx, SetL1ValidatorWeightTx
from platform_app.txs.warp import parse_signed_message
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from primitives.warp import WarpError, verify_message
from utxo.errors import InvalidTx


class WarpMessageReason(StrEnum):
    """Why a transaction's message is not accepted."""

    UNKNOWN_CHAIN = 'problem retrieving blockchain "{chain_id}": not found'
    NO_CHAIN = '"{chain_id}" is not a blockchain'  # it is another transaction
    NOT_SIGNED = "{cause}"  # the message of `primitives.warp`


def verify_warp_message(tx: UnsignedTx, state: ChainState, env: Env) -> None:
    """Check the message of a transaction that has one, unless the environment has no validators to check it against.

    Raises:
        InvalidTx: It is not a message; its source is unknown; its signature does not hold at the context's height.
    """
    if env.signers is None or not isinstance(tx, (RegisterL1ValidatorTx, SetL1ValidatorWeightTx)):
        return
    message = parse_signed_message(tx.message)
    subnet_id = subnet_of(message.message.source_chain_id, state, env)
    try:
        verify_message(message, env.config.network_id, env.signers(subnet_id, env.p_chain_height))
    except WarpError as cause:
        raise InvalidTx(WarpMessageReason.NOT_SIGNED, cause=cause) from cause


def subnet_of(chain_id: ID, state: ChainState, env: Env) -> ID:
    """Return the subnet whose validators sign the messages of a chain.

    Raises:
        InvalidTx: There is no such chain.
    """
    if chain_id in {P_CHAIN_ID, env.x_chain_id, env.c_chain_id}:
        return PRIMARY_NETWORK_ID
    subnet_id = state.subnets.of_blockchain(chain_id)
    if subnet_id is None:
        is_tx = state.txs.get(chain_id) is not None
        reason = WarpMessageReason.NO_CHAIN if is_tx else WarpMessageReason.UNKNOWN_CHAIN
        raise InvalidTx(reason, chain_id=chain_id)
    return subnet_id
