"""Signatures of an EVM chain's warp messages for its API, with the key of this node."""

from collections.abc import Callable

from primitives import bls
from primitives.node_identity import NodeIdentity
from primitives.warp import UnsignedMessage


class MessageSigners:
    """Signs the messages of an EVM chain; a `cchain_app.services.warp.MessageSignatures`.

    Args:
        identity: Returns the node's keys.
    """

    def __init__(self, identity: Callable[[], NodeIdentity]) -> None:
        self._identity = identity

    def sign(self, message: UnsignedMessage) -> bytes:
        """Return this node's signature of a message, which the caller has found among the chain's own."""
        return bls.sign(self._identity().bls_secret, message.raw)
