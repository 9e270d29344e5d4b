"""Sends the engine's messages to peers and returns the answers: requests with deadlines (p2p.md 7).

Also limits the blocks that wait for their parents, which the sender of such blocks need not have.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from typing_extensions import override

from network_app.consensus.validators import CurrentValidators
from network_app.ports import Network
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.ports import Chits, Sender
from network_app.sync.messages import Answer, as_id, enclose
from network_app.sync.requests import Requests
from network_app.wire import p2p_pb2 as p2p
from primitives.ids import ID, NodeID

MAX_PENDING = 1024
"""Number of blocks that may wait for their parents. If more are needed, bootstrapping is faster."""
MAX_PENDING_BYTES = 64 * 1024 * 1024
"""Total size of these blocks in bytes."""


class PendingBlocksLimit:
    """Decides whether another block may wait for its parent.

    Unspecified: the reference has no limit. Here a block beyond the limit is treated as a failed request,
    and then all blocks that wait for it are dropped.

    Args:
        is_validator: Whether a node is a validator, whose blocks are assumed to belong to the chain.
        on_full: Called when a validator's block exceeds the limit.
    """

    def __init__(self, is_validator: Callable[[NodeID], bool], on_full: Callable[[], None]) -> None:
        self._is_validator = is_validator
        self._on_full = on_full

    def is_left(self, engine: SnowmanEngine[Any], node_id: NodeID) -> bool:
        """Return whether a block of a node may be taken."""
        pending = engine.pending.values()
        if (
            len(pending) < MAX_PENDING
            and sum(len(block.raw) for block in pending) < MAX_PENDING_BYTES
        ):
            return True
        if self._is_validator(node_id):
            self._on_full()
        return False


Work: TypeAlias = Callable[[SnowmanEngine[Any]], Awaitable[None]]
"""An item of work for the engine, called when its turn comes."""

PAUSE = 0.1
"""Seconds until a poll fails if most of its validators could not be reached."""
MAX_GETS = 64
"""Blocks that may be requested at a time from one validator, or from all other peers together."""


class PeerSender(Sender):
    """`snowman.ports.Sender` for one engine.

    Requests and answers from this node to itself are delivered like any other message. A request to a node
    that is benched or cannot be sent to fails immediately. On the wire a request has a number from
    `Requests`, the same for all recipients; the answer is delivered with the engine's own number.

    Unspecified: if most of the sampled validators cannot be sent to, although they count as connected,
    their requests fail after a pause. Otherwise failing polls would follow each other in an endless loop.

    Args:
        network: The connections.
        requests: The open requests of the chain.
        validators: Knows which validators are benched.
        pending_limit: Limits the blocks that wait for their parents.
        enqueue: Queues work for the engine, under the node that caused it.
        chain_id: ID of the chain.
    """

    def __init__(
        self,
        network: Network,
        requests: Requests,
        validators: CurrentValidators,
        pending_limit: PendingBlocksLimit,
        *,
        enqueue: Callable[[NodeID, Work], None],
        chain_id: ID,
    ) -> None:
        self._network = network
        self._requests = requests
        self._validators = validators
        self._pending_limit = pending_limit
        self._gets: Counter[NodeID | None] = Counter()
        """Open requests for blocks by validator; None: of all other peers together."""
        self._deliver = enqueue
        self._chain_id = bytes(chain_id)
        self._is_closed = False

    def close(self) -> None:
        """Deliver nothing any longer: the engine has ended, and the next one has other numbers."""
        self._is_closed = True

    @override
    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        """Request a block. A request to this node itself fails, because it would already have the block.

        Unspecified: at most `MAX_GETS` blocks are requested at a time from one validator, and from all
        other peers together, so that a peer that names many blocks does not use up all requests.
        """
        who = node_id if self._validators.is_validator(node_id) else None

        def answered(answer: Answer | None) -> None:
            self._gets[who] -= 1
            self._block_came(node_id, request_id, answer)

        self._gets[who] += 1
        if node_id == self._network.node_id or self._gets[who] > MAX_GETS:
            answered(None)
        elif self._validators.is_benched(node_id) or not self._requests.post(
            node_id, p2p.Get(container_id=bytes(block_id)), p2p.Put, answered
        ):
            self._requests.unreachable()
            answered(None)

    @override
    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        query = p2p.PushQuery(container=raw, requested_height=height)
        own = self._network.node_id
        self._query(
            node_ids, request_id, query, lambda it: it.push_query(own, request_id, raw, height)
        )

    @override
    def send_pull_query(
        self, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        query = p2p.PullQuery(container_id=bytes(block_id), requested_height=height)
        own = self._network.node_id
        self._query(
            node_ids, request_id, query, lambda it: it.pull_query(own, request_id, block_id, height)
        )

    @override
    def send_chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        if node_id == self._network.node_id:
            self._enqueue(node_id, lambda engine: engine.chits(node_id, request_id, chits))
            return
        answer = p2p.Chits(
            chain_id=self._chain_id,
            request_id=request_id,
            preferred_id=bytes(chits.preferred_id),
            preferred_id_at_height=bytes(chits.preferred_id_at_height),
            accepted_id=bytes(chits.accepted_id),
            accepted_height=chits.accepted_height,
        )
        self._network.send(node_id, enclose(answer))

    def _query(
        self,
        node_ids: Iterable[NodeID],
        request_id: int,
        query: p2p.PushQuery | p2p.PullQuery,
        ask_oneself: Work,
    ) -> None:
        asked = {node_id: partial(self._vote_came, node_id, request_id) for node_id in node_ids}
        if asked.pop(self._network.node_id, None) is not None:
            self._enqueue(self._network.node_id, ask_oneself)
        reachable = {
            node_id: answered
            for node_id, answered in asked.items()
            if not self._validators.is_benched(node_id)
        }
        sent = frozenset(self._requests.post_to_all(reachable, query, p2p.Chits, counts=True))
        missed = [answered for node_id, answered in asked.items() if node_id not in sent]
        for _ in missed:
            self._requests.unreachable()
        if len(missed) <= len(sent):
            _fail(missed)
        else:
            asyncio.get_running_loop().call_later(PAUSE, _fail, missed)

    def _block_came(self, node_id: NodeID, request_id: int, answer: Answer | None) -> None:
        raw = answer.container if isinstance(answer, p2p.Put) else None

        async def take(engine: SnowmanEngine[Any]) -> None:
            if raw is None or not self._pending_limit.is_left(engine, node_id):
                await engine.get_failed(node_id, request_id)
            else:
                await engine.put(node_id, request_id, raw)

        self._enqueue(node_id, take)

    def _vote_came(self, node_id: NodeID, request_id: int, answer: Answer | None) -> None:
        chits = read_chits(answer) if isinstance(answer, p2p.Chits) else None
        if chits is None:
            self._enqueue(node_id, lambda engine: engine.query_failed(node_id, request_id))
        else:
            self._enqueue(node_id, lambda engine: engine.chits(node_id, request_id, chits))

    def _enqueue(self, node_id: NodeID, work: Work) -> None:
        if not self._is_closed:
            self._deliver(node_id, work)


def _fail(questions: Iterable[Callable[[None], None]]) -> None:
    """Fail requests without an answer."""
    for answered in questions:
        answered(None)


def read_chits(answer: p2p.Chits) -> Chits | None:
    """Return the vote of a peer, or None if one of its three IDs is invalid."""
    preferred = as_id(answer.preferred_id)
    at_height = as_id(answer.preferred_id_at_height)
    accepted = as_id(answer.accepted_id)
    if preferred is None or at_height is None or accepted is None:
        return None
    return Chits(preferred, at_height, accepted, answer.accepted_height)
