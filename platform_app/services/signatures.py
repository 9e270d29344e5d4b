"""Aggregation of the signatures of the P-Chain's statements about L1s to signed messages (etna.md 7.4)."""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from platform_app.services.errors import AggregationReason, NotAggregated
from primitives.ids import ID, NodeID
from primitives.warp import UnsignedMessage, WarpError, canonical_set
from primitives.warp_aggregation import aggregate

AT_ONCE: Final = 4
"""Aggregations for the P-Chain, and for all EVM chains, that may wait for peers at the same time: each keeps a thread."""


class SignatureSource(Protocol):
    """Collects the signatures of a message by nodes."""

    def __call__(
        self, message: UnsignedMessage, justification: bytes, node_ids: Collection[NodeID]
    ) -> Mapping[NodeID, bytes]:
        """Return the signatures of those nodes that sign. Blocking.

        Raises:
            NotAggregated: The message must not be signed; too many calls wait for signatures already.
        """


def aggregate_signatures(
    chain: PlatformChain,
    source: SignatureSource,
    message: UnsignedMessage,
    justification: bytes,
    *,
    subnet_id: ID,
    percentage: int,
) -> bytes:
    """Return the bytes of a message signed by the current validators of a subnet.

    Args:
        chain: The chain that states it.
        source: Collects the signatures.
        message: The statement.
        justification: The evidence that signers ask for; its form depends on the message.
        subnet_id: The subnet whose validators sign: the Primary Network, or the L1 that the message is for.
        percentage: The least share of the weight that must have signed.

    Raises:
        NotAggregated: The message is not true; the subnet has no validators; too few validators have signed; too many
            calls wait for signatures already.
    """
    members = stakers.validators_at(chain, chain.tip().height, subnet_id) or {}
    if not members:
        raise NotAggregated(AggregationReason.NO_VALIDATORS, subnet_id=subnet_id)
    keys = {
        node_id: member.public_key
        for node_id, member in members.items()
        if member.public_key is not None
    }
    found = source(message, justification, keys)
    signatures = {keys[node_id]: signature for node_id, signature in found.items()}
    validators = canonical_set((member.public_key, member.weight) for member in members.values())
    try:
        return aggregate(message, validators, signatures, percentage=percentage)
    except WarpError as cause:
        raise NotAggregated(AggregationReason.TOO_FEW, cause=cause) from cause
