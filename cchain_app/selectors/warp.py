"""Warp messages of a chain: those that its blocks have sent, and what its node signs for others (ACP-118)."""

from collections.abc import Callable
from enum import Enum

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.store import warp as warp_rows
from primitives.codec_errors import CodecError
from primitives.evm import Hash
from primitives.ids import ID
from primitives.warp import (
    AddressedCall,
    HashPayload,
    UnsignedMessage,
    build_payload,
    parse_payload,
    parse_unsigned,
)
from primitives.warp_uptime import parse_uptime


class MessageReason(Enum):
    """Why a node does not sign a message: the reference's code for a peer that has asked, and its words.

    1 is a message that cannot be read, 2 one that is not true, and -1 the code of the part that signs.
    """

    PAYLOAD = 1, "failed to parse payload: {cause}"
    UNKNOWN_TYPE = 1, "failed to parse addressed call message: {cause}"
    NO_BLOCK = 2, "failed to get block {block_id}: not found"
    NOT_SENT = 2, "source address should be empty for offchain addressed messages"
    NO_VALIDATION = 2, "failed to get uptime: validationID not found: {validation_id}"
    UPTIME_TOO_LONG = (
        2,
        "current uptime {seen} is less than queried uptime {claimed} for validationID {validation_id}",
    )
    WRONG_SOURCE = -1, "failed to sign message: wrong SourceChainID"
    WRONG_NETWORK = -1, "failed to sign message: wrong networkID"


SecondsOnline = Callable[[ID], int | None]
"""Returns for how many seconds this node has seen a validator online, by its validation ID; None: it is unknown."""


class UnsignedWarpMessage(Exception):
    """A message that this node does not sign."""

    def __init__(self, reason: MessageReason, **values: object) -> None:
        code, words = reason.value
        super().__init__(words.format(**values))
        self.reason = reason
        self.code: int = code


def sent_message(chain: EvmChain, message_id: ID) -> UnsignedMessage | None:
    """Return a message that an accepted block has sent; None: none has."""
    raw = warp_rows.raw_message(chain.db, message_id)
    return None if raw is None else parse_unsigned(raw)


def block_message(chain: EvmChain, block_id: ID) -> UnsignedMessage | None:
    """Return the message that a block has been accepted; None: this node knows no such block.

    Raises:
        NoBlockchainID: The chain has no ID yet.
    """
    if blocks.by_hash(chain, Hash(bytes(block_id))) is None:
        return None
    payload = build_payload(HashPayload(block_id))
    return UnsignedMessage(chain.node.network_id, chain.blockchain_id, payload)


def verify_signable(
    chain: EvmChain, message: UnsignedMessage, seconds_online: SecondsOnline | None = None
) -> None:
    """Check that a node of the chain signs a message.

    It is one that the chain has sent, the hash of one of its accepted blocks, or a claim that a validator of its subnet was
    online for no longer than this node has seen.

    Args:
        chain: The chain.
        message: The message.
        seconds_online: Returns the observed uptime of a validator; None: the Primary Network validates the chain.

    Raises:
        UnsignedWarpMessage: This node does not sign the message.
        NoBlockchainID: The chain has no ID yet.
    """
    if warp_rows.raw_message(chain.db, message.message_id) is None:
        _verify_payload(chain, message, seconds_online)
    if message.source_chain_id != chain.blockchain_id:
        raise UnsignedWarpMessage(MessageReason.WRONG_SOURCE)
    if message.network_id != chain.node.network_id:
        raise UnsignedWarpMessage(MessageReason.WRONG_NETWORK)


def _verify_payload(
    chain: EvmChain, message: UnsignedMessage, seconds_online: SecondsOnline | None
) -> None:
    try:
        payload = parse_payload(message.payload)
    except CodecError as cause:
        raise UnsignedWarpMessage(MessageReason.PAYLOAD, cause=cause) from cause
    if isinstance(payload, AddressedCall):
        if payload.source_address:
            raise UnsignedWarpMessage(MessageReason.NOT_SENT)
        _verify_uptime(payload.payload, seconds_online)
        return
    assert isinstance(payload, HashPayload), "there are two types"
    if blocks.by_hash(chain, Hash(bytes(payload.hash))) is None:
        raise UnsignedWarpMessage(MessageReason.NO_BLOCK, block_id=payload.hash)


def _verify_uptime(raw: bytes, seconds_online: SecondsOnline | None) -> None:
    if seconds_online is None:
        words = "this node signs no offchain messages"
        raise UnsignedWarpMessage(MessageReason.UNKNOWN_TYPE, cause=words)
    try:
        claim = parse_uptime(raw)
    except CodecError as cause:
        raise UnsignedWarpMessage(MessageReason.UNKNOWN_TYPE, cause=cause) from cause
    seen = seconds_online(claim.validation_id)
    if seen is None:
        raise UnsignedWarpMessage(MessageReason.NO_VALIDATION, validation_id=claim.validation_id)
    if seen < claim.seconds:
        raise UnsignedWarpMessage(
            MessageReason.UPTIME_TOO_LONG,
            seen=seen,
            claimed=claim.seconds,
            validation_id=claim.validation_id,
        )
