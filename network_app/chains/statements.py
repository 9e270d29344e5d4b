"""Signatures of the P-Chain's statements about L1s: by this node, and by the peers that it reaches (etna.md 7.4)."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import TimeoutError as StillWaiting
from functools import partial
from typing import NamedTuple

from network_app.chains.relay import MAX_SECONDS
from network_app.chains.signing import PlatformSigner
from network_app.ports import AskedPeers, SignatureRefused
from network_app.sync.requests import Requests
from network_app.sync.signatures import ask_signatures
from network_app.wire.sdk_pb2 import SignatureRequest, SignatureResponse
from platform_app.chain import PlatformChain
from platform_app.services.errors import AggregationReason, NotAggregated
from platform_app.services.signatures import AggregationSlots
from primitives.ids import NodeID
from primitives.node_identity import NodeIdentity
from primitives.warp import UnsignedMessage


class ReachedPeers(NamedTuple):
    """A chain's requests to peers, and the event loop on which they are made."""

    loop: asyncio.AbstractEventLoop
    requests: Requests

    def ask(self, payload: bytes, node_ids: Collection[NodeID]) -> Mapping[NodeID, bytes]:
        """Return the signatures of those nodes that answer a SignatureRequest. Blocking; not on the loop itself."""
        ask = partial(ask_signatures, self.requests, payload, node_ids)
        waiting = asyncio.run_coroutine_threadsafe(ask(), self.loop)
        try:
            return waiting.result(MAX_SECONDS)
        except StillWaiting:
            waiting.cancel()
            return {}


class StatementSigners:
    """Collects signatures of the P-Chain's statements; a `platform_app.services.signatures.SignatureSource`.

    Args:
        chain: The chain.
        identity: Returns the node's keys.
        slots: Limits how many calls wait for peers.
        peers: The peers; None while the node has no connections: then only this node signs.
    """

    def __init__(
        self,
        chain: PlatformChain,
        identity: Callable[[], NodeIdentity],
        slots: AggregationSlots,
        peers: AskedPeers | None = None,
    ) -> None:
        self._chain = chain
        self._identity = identity
        self._slots = slots
        self.peers = peers

    def __call__(
        self, message: UnsignedMessage, justification: bytes, node_ids: Collection[NodeID]
    ) -> Mapping[NodeID, bytes]:
        """Return the signatures of those nodes that sign. Blocking; not on the peers' event loop.

        Raises:
            NotAggregated: The message is not true in this node's last accepted state, or too many calls wait for peers
                already. Then no peer is asked.
        """
        keys = self._identity()
        request = SignatureRequest(message=message.raw, justification=justification)
        payload = request.SerializeToString()
        try:
            own = PlatformSigner(self._chain, keys.bls_secret).sign(payload)
        except SignatureRefused as error:
            raise NotAggregated(AggregationReason.NOT_SIGNED, cause=error) from error
        others = [node_id for node_id in node_ids if node_id != keys.node_id]
        signatures = dict(self._ask(payload, others))
        if keys.node_id in node_ids:
            signatures[keys.node_id] = SignatureResponse.FromString(own).signature
        return signatures

    def _ask(self, payload: bytes, node_ids: Collection[NodeID]) -> Mapping[NodeID, bytes]:
        if self.peers is None or not node_ids:
            return {}
        with self._slots.slot() as is_held:
            if not is_held:
                raise NotAggregated(AggregationReason.BUSY)
            return self.peers.ask(payload, node_ids)
