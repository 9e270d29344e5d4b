"""The engine's messages on the wire, and its answers back: requests with deadlines, as p2p.md 7 has them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from typing_extensions import override

from network_app.consensus.room import Room
from network_app.consensus.validators import CurrentValidators
from network_app.ports import PeerNetwork
from network_app.snowman.engine import Engine
from network_app.snowman.ports import Chits, Sender
from network_app.sync.messages import Answer, as_id, enclose
from network_app.sync.requests import Requests
from network_app.wire import p2p_pb2 as p2p
from primitives.ids import ID, NodeID

Work: TypeAlias = Callable[[Engine[Any]], Awaitable[None]]
"""What is told an engine when its turn comes."""

PAUSE = 0.1
"""Seconds before a poll fails of which most could not be asked."""
MOST_GETS = 64
"""Blocks that one validator, or all strangers together, are asked for at a time."""


class PeerSender(Sender):
    """`snowman.ports.Sender` for one engine.

    What it asks itself, and what it answers itself, comes back as any other message. Who is benched, or
    cannot be sent to, fails at once. On the wire a question has a number of `Requests`, the same for all
    who are asked; the engine's own number comes back with the answer.

    Unspecified: where most of those who were drawn cannot be sent to, though they count as connected, they
    fail after a moment: else polls that fail at once would follow each other without end.

    Args:
        network: The connections.
        requests: The open questions of the chain.
        validators: Says who is benched.
        room: Bounds what peers are asked for, and what they send.
        tell: Takes what the engine is to be told, and whose doing it is.
        chain_id: The chain's.
    """

    def __init__(
        self,
        network: PeerNetwork,
        requests: Requests,
        validators: CurrentValidators,
        room: Room,
        *,
        tell: Callable[[NodeID, Work], None],
        chain_id: ID,
    ) -> None:
        self._network = network
        self._requests = requests
        self._validators = validators
        self._room = room
        self._gets: Counter[NodeID | None] = Counter()
        """Open questions for blocks; None: of all that do not validate."""
        self._deliver = tell
        self._chain_id = bytes(chain_id)
        self._is_closed = False

    def close(self) -> None:
        """Tell nothing any more: the engine has ended, and its numbers say nothing to the next one."""
        self._is_closed = True

    @override
    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        """Ask for a block. Of this node itself it is never to be had: it would know it.

        Unspecified: of one validator, and of all strangers together, no more than `MOST_GETS` are asked
        for at a time, so that nobody who names many blocks leaves no question for others.
        """
        who = node_id if self._validators.is_validator(node_id) else None

        def answered(answer: Answer | None) -> None:
            self._gets[who] -= 1
            self._block_came(node_id, request_id, answer)

        self._gets[who] += 1
        if node_id == self._network.node_id or self._gets[who] > MOST_GETS:
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
            self._tell(node_id, lambda engine: engine.chits(node_id, request_id, chits))
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
            self._tell(self._network.node_id, ask_oneself)
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

        async def take(engine: Engine[Any]) -> None:
            if raw is None or not self._room.is_left(engine, node_id):
                await engine.get_failed(node_id, request_id)
            else:
                await engine.put(node_id, request_id, raw)

        self._tell(node_id, take)

    def _vote_came(self, node_id: NodeID, request_id: int, answer: Answer | None) -> None:
        chits = read_chits(answer) if isinstance(answer, p2p.Chits) else None
        if chits is None:
            self._tell(node_id, lambda engine: engine.query_failed(node_id, request_id))
        else:
            self._tell(node_id, lambda engine: engine.chits(node_id, request_id, chits))

    def _tell(self, node_id: NodeID, work: Work) -> None:
        if not self._is_closed:
            self._deliver(node_id, work)


def _fail(questions: Iterable[Callable[[None], None]]) -> None:
    """Let questions have no answer."""
    for answered in questions:
        answered(None)


def read_chits(answer: p2p.Chits) -> Chits | None:
    """Return what a peer votes, or None where one of the three IDs is none: that is no vote."""
    preferred = as_id(answer.preferred_id)
    at_height = as_id(answer.preferred_id_at_height)
    accepted = as_id(answer.accepted_id)
    if preferred is None or at_height is None or accepted is None:
        return None
    return Chits(preferred, at_height, accepted, answer.accepted_height)
