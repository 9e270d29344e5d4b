"""Warp messages of a chain for its API: sent messages, hashes of accepted blocks, and their signatures."""

from enum import StrEnum
from typing import Protocol

from cchain_app.chain import EvmChain
from cchain_app.selectors import warp
from primitives.ids import ID
from primitives.reasons import ErrorWithReason
from primitives.warp import UnsignedMessage


class WarpRefusalReason(StrEnum):
    """Why there is no message or no signature; the words are the reference's."""

    NO_MESSAGE = "failed to get message {message_id} with error not found"
    NO_BLOCK = "failed to get block {block_id} with error not found"
    NO_KEY = "this process does not sign messages"
    NOT_AGGREGATED = "failed to aggregate signatures: {cause}"
    BUSY = "too many calls wait for signatures already"


class WarpRefused(ErrorWithReason):
    """A message that this node does not have or does not sign."""


class MessageSignatures(Protocol):
    """Signs messages that this chain has sent, and hashes of its blocks."""

    def sign(self, message: UnsignedMessage) -> bytes:
        """Return this node's signature, 96 bytes."""

    def aggregate(
        self, chain: EvmChain, message: UnsignedMessage, *, subnet_id: ID, percentage: int
    ) -> bytes:
        """Return the bytes of the message signed by current validators of a subnet. Blocking.

        Args:
            chain: The chain whose message it is.
            message: The message.
            subnet_id: The subnet.
            percentage: The least share of the weight that must have signed.

        Raises:
            WarpRefused: Too few have signed, or too many calls wait already.
        """


def message(chain: EvmChain, message_id: ID) -> UnsignedMessage:
    """Return a message that an accepted block has sent.

    Raises:
        WarpRefused: No block has sent it.
    """
    found = warp.sent_message(chain, message_id)
    if found is None:
        raise WarpRefused(WarpRefusalReason.NO_MESSAGE, message_id=message_id)
    return found


def block_message(chain: EvmChain, block_id: ID) -> UnsignedMessage:
    """Return the message that a block has been accepted.

    Raises:
        WarpRefused: This node knows no such block.
        NoBlockchainID: The chain has no ID yet.
    """
    found = warp.block_message(chain, block_id)
    if found is None:
        raise WarpRefused(WarpRefusalReason.NO_BLOCK, block_id=block_id)
    return found


def signature(signatures: MessageSignatures | None, given: UnsignedMessage) -> bytes:
    """Return this node's signature of one of these messages.

    Raises:
        WarpRefused: This process has no key.
    """
    if signatures is None:
        raise WarpRefused(WarpRefusalReason.NO_KEY)
    return signatures.sign(given)


def aggregated(
    signatures: MessageSignatures | None,
    chain: EvmChain,
    given: UnsignedMessage,
    percentage: int,
    subnet_id: ID | None,
) -> bytes:
    """Return the bytes of one of these messages, signed by enough validators.

    Args:
        signatures: Signs messages; None: this process has no key.
        chain: The chain whose message it is.
        given: The message.
        percentage: The least share of the weight that must have signed.
        subnet_id: The subnet whose validators sign; None: the chain's own.

    Raises:
        WarpRefused: This process has no key, too few have signed, or too many calls wait already.
    """
    if signatures is None:
        raise WarpRefused(WarpRefusalReason.NO_KEY)
    return signatures.aggregate(
        chain, given, subnet_id=subnet_id or chain.subnet_id, percentage=percentage
    )
