"""`warp_`: messages that the chain has sent to others, and signatures of them (etna.md 7.4)."""

from typing import Any

from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from cchain_app.services import warp
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import InvalidParam
from primitives.cb58 import Cb58Error
from primitives.hexadecimal import encode_data
from primitives.ids import ID, IdError
from primitives.warp import QUORUM_DENOMINATOR, QUORUM_NUMERATOR


def message_id(value: Any) -> ID:
    """Read the ID of a message or block.

    Unspecified: the reference takes CB58 only. 0x and 64 hex digits are taken too, because logs and Ethereum's methods show
    IDs so.
    """
    text = params.text(value, "ids.ID")
    if text.startswith("0x"):
        return ID(params.hash32(text))
    try:
        return ID.parse(text)
    except (Cb58Error, IdError) as error:
        raise InvalidParam(f"couldn't decode ID to bytes: {error}") from error


def get_message(rpc: EvmRpc, wanted: ID) -> str:
    """warp_getMessage: the unsigned bytes of a message that an accepted block has sent.

    Raises:
        WarpRefused: No block has sent it.
    """
    return encode_data(warp.message(rpc.chain, wanted).raw)


def get_message_signature(rpc: EvmRpc, wanted: ID) -> str:
    """warp_getMessageSignature: this node's BLS signature of a message that an accepted block has sent.

    Raises:
        WarpRefused: No block has sent it.
    """
    return encode_data(warp.signature(rpc.signatures, warp.message(rpc.chain, wanted)))


def get_block_signature(rpc: EvmRpc, wanted: ID) -> str:
    """warp_getBlockSignature: this node's BLS signature of the message that a block has been accepted.

    Raises:
        WarpRefused: This node knows no such block.
    """
    return encode_data(warp.signature(rpc.signatures, warp.block_message(rpc.chain, wanted)))


def quorum(value: Any) -> int:
    """Read how many of 100 parts of the weight must have signed."""
    number: int = params.count(value)
    if number > QUORUM_DENOMINATOR:
        raise InvalidParam(f"quorum {number} of {QUORUM_DENOMINATOR}")
    return number


def subnet_id(value: Any) -> ID | None:
    """Read the ID of a subnet; an empty text means None."""
    return None if value == "" else message_id(value)


def get_message_aggregate_signature(
    rpc: EvmRpc, wanted: ID, percentage: int, subnet: ID | None
) -> str:
    """warp_getMessageAggregateSignature: a sent message, signed by enough validators, as access lists need it.

    This node signs and asks the connected validators. Without `subnetID` those of the chain's own subnet sign, which are
    those of the Primary Network for the C-Chain.

    Raises:
        WarpRefused: No block has sent it, or too few validators have signed.
    """
    message = warp.message(rpc.chain, wanted)
    return encode_data(warp.aggregated(rpc.signatures, rpc.chain, message, percentage, subnet))


def get_block_aggregate_signature(
    rpc: EvmRpc, wanted: ID, percentage: int, subnet: ID | None
) -> str:
    """warp_getBlockAggregateSignature: the message that a block is accepted, signed by enough validators.

    They are found as for warp_getMessageAggregateSignature.

    Raises:
        WarpRefused: This node knows no such block, or too few validators have signed.
    """
    message = warp.block_message(rpc.chain, wanted)
    return encode_data(warp.aggregated(rpc.signatures, rpc.chain, message, percentage, subnet))


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Register the methods.

    Unspecified: the reference needs `warp-api-enabled` for them. Here they always exist, because they reveal nothing
    that is not in the chain's logs, and peers get signatures too.
    """
    sent, block = Param("messageID", message_id), Param("blockID", message_id)
    methods.add("warp_getMessage", rpc.bind(get_message), params=[sent])
    methods.add("warp_getMessageSignature", rpc.bind(get_message_signature), params=[sent])
    methods.add("warp_getBlockSignature", rpc.bind(get_block_signature), params=[block])
    share, subnet = Param("quorumNum", quorum, QUORUM_NUMERATOR), Param("subnetID", subnet_id, None)
    methods.add(
        "warp_getMessageAggregateSignature",
        rpc.bind(get_message_aggregate_signature),
        params=[sent, share, subnet],
    )
    methods.add(
        "warp_getBlockAggregateSignature",
        rpc.bind(get_block_aggregate_signature),
        params=[block, share, subnet],
    )
