"""Signatures of the EVM chains' warp messages for their APIs: by this node, and by the peers that it reaches."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from cchain_app.chain import EvmChain
from cchain_app.services.warp import WarpRefusalReason, WarpRefused
from network_app.ports import AskedPeers
from platform_app.chain import PlatformChain
from platform_app.services.errors import NotAggregated
from platform_app.services.signatures import AggregationSlots, aggregate_signatures
from primitives import bls
from primitives.ids import ID, NodeID
from primitives.node_identity import NodeIdentity
from primitives.warp import UnsignedMessage


class MessageSigners:
    """Signs the messages of EVM chains; a `cchain_app.services.warp.MessageSignatures`.

    Args:
        platform: The P-Chain, which knows the validators.
        identity: Returns the node's keys.
        slots: Limits how many calls wait for peers.
        peers: Returns the peers of a chain by its name, or None if the chain has not joined the network yet; None while
            the node has no connections.
    """

    def __init__(
        self,
        platform: PlatformChain,
        identity: Callable[[], NodeIdentity],
        slots: AggregationSlots,
        peers: Callable[[str], AskedPeers | None] | None = None,
    ) -> None:
        self._platform = platform
        self._identity = identity
        self._slots = slots
        self.peers = peers

    def sign(self, message: UnsignedMessage) -> bytes:
        """Return this node's signature of a message, which the caller has found among the chain's own."""
        return bls.sign(self._identity().bls_secret, message.raw)

    def aggregate(
        self, chain: EvmChain, message: UnsignedMessage, *, subnet_id: ID, percentage: int
    ) -> bytes:
        """Return the bytes of a message signed by the current validators of a subnet. Blocking.

        Raises:
            WarpRefused: Too few validators have signed; or too many calls wait for peers already.
        """
        with self._slots.slot() as is_held:
            if not is_held:
                raise WarpRefused(WarpRefusalReason.BUSY)
            try:
                return aggregate_signatures(
                    self._platform,
                    partial(self._collect, chain.name),
                    message,
                    b"",
                    subnet_id=subnet_id,
                    percentage=percentage,
                )
            except NotAggregated as cause:
                raise WarpRefused(WarpRefusalReason.NOT_AGGREGATED, cause=cause) from cause

    def _collect(
        self,
        name: str,
        message: UnsignedMessage,
        justification: bytes,
        node_ids: Collection[NodeID],
    ) -> Mapping[NodeID, bytes]:
        from network_app.wire.sdk_pb2 import SignatureRequest  # takes long to import

        own = self._identity().node_id
        others = [node_id for node_id in node_ids if node_id != own]
        request = SignatureRequest(message=message.raw, justification=justification)
        signatures: dict[NodeID, bytes] = {}
        reached = None if self.peers is None else self.peers(name)
        if reached is not None and others:
            signatures.update(reached.ask(request.SerializeToString(), others))
        if own in node_ids:
            signatures[own] = self.sign(message)
        return signatures
