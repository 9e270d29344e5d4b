"""Aggregation of the signatures of the P-Chain's statements about L1s to signed messages (etna.md 7.4)."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Final, Protocol

from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from platform_app.selectors.stakers import UnfinalizedHeight
from platform_app.services.errors import AggregationReason, NotAggregated
from primitives.ids import ID, NodeID
from primitives.warp import UnsignedMessage, WarpError, canonical_set
from primitives.warp_aggregation import aggregate

_THREADS_FOR_ONE: Final = 4


class AggregationSlots:
    """Slots for the aggregations of all chains that wait for peers, since each keeps a thread for calls.

    They take at most a quarter of the threads, so that others are left for calls that take no time; of one to three
    threads they take one.

    Args:
        threads: The threads for calls of this process.
    """

    def __init__(self, threads: int) -> None:
        self.count = max(1, threads // _THREADS_FOR_ONE)
        self._free = BoundedSemaphore(self.count)

    @contextmanager
    def slot(self) -> Iterator[bool]:
        """Hold a slot; the value says whether there was a free one."""
        is_held = self._free.acquire(blocking=False)
        try:
            yield is_held
        finally:
            if is_held:
                self._free.release()


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
    height: int | None = None,
) -> bytes:
    """Return the bytes of a message signed by the validators of a subnet.

    Args:
        chain: The chain that states it.
        source: Collects the signatures.
        message: The statement.
        justification: The evidence that signers ask for; its form depends on the message.
        subnet_id: The subnet whose validators sign: the Primary Network, or the L1 that the message is for.
        percentage: The least share of the weight that must have signed.
        height: The P-Chain height at which they are validators; None: the last accepted one.

    Raises:
        NotAggregated: The message is not true; the height is not accepted yet; the subnet has no validators; too few
            validators have signed; too many calls wait for signatures already.
    """
    current = chain.tip().height
    members = stakers.validators_at(chain, current if height is None else height, subnet_id)
    if members is None:
        words = UnfinalizedHeight.MESSAGE.format(
            subnet_id=subnet_id, current=current, requested=height
        )
        raise NotAggregated(AggregationReason.UNKNOWN_HEIGHT, cause=words)
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
