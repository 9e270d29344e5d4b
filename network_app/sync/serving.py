"""Answers requests of peers about one chain (p2p.md 9 and 10.2).

Queries are answered immediately from memory; all other requests in threads, a few at a time. `budget` limits
their cost.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import accumulate
from typing import Protocol, TypeAlias

from network_app.config import NetworkConfig
from network_app.ports import ANCESTOR_OVERHEAD, BlockRef, Network, RunInThread
from network_app.sync.budget import AnswerBudget
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import Answer, as_id, enclose
from network_app.sync.requests import NANOSECONDS
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import pack
from network_app.wire.p2p_pb2 import (
    Accepted,
    AcceptedFrontier,
    AcceptedStateSummary,
    Ancestors,
    AppRequest,
    Chits,
    Get,
    GetAccepted,
    GetAcceptedFrontier,
    GetAcceptedStateSummary,
    GetAncestors,
    GetStateSummaryFrontier,
    PullQuery,
    PushQuery,
    Put,
    StateSummaryFrontier,
)
from primitives.hashing import keccak256
from primitives.ids import ID, NodeID

MAX_IDS = 1024
"""Number of IDs of a GetAccepted that are processed; frontiers have at most 20."""
LONGEST_DEADLINE = 10.0
"""Maximum seconds until an answer is considered too late, whatever deadline the request has."""

Question: TypeAlias = (
    GetAcceptedFrontier
    | GetAccepted
    | GetAncestors
    | Get
    | GetStateSummaryFrontier
    | GetAcceptedStateSummary
)
Query: TypeAlias = PushQuery | PullQuery

QUESTIONS = (
    GetAcceptedFrontier,
    GetAccepted,
    GetAncestors,
    Get,
    GetStateSummaryFrontier,
    GetAcceptedStateSummary,
)

_log = logging.getLogger(__name__)


class ProcessingSource(Protocol):
    """In-memory state of a chain with voting: `voting.Participation`. Used on the event loop."""

    def last_accepted(self) -> ID | None:
        """Return the last accepted block, even if it is not stored yet; None: the stored one is the last."""

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return an unstored block and its unstored ancestors, newest first, and the next parent's ID."""


class Serving:
    """Answers requests about one chain.

    Args:
        last_accepted: The chain.
        network: The connections.
        config: Limits of answers.
        budget: Limits the cost of answers.
        serve: Runs a blocking call in a thread reserved for answers to peers.
        clock: Returns seconds, monotonic.
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        network: Network,
        config: NetworkConfig,
        budget: AnswerBudget,
        serve: RunInThread,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._last_accepted = last_accepted
        self._network = network
        self._config = config
        self._budget = budget
        self._serve = serve
        self._clock = clock
        self.undecided: ProcessingSource | None = None
        """The in-memory state; None if this chain has no voting."""

    def answer_query(self, node_id: NodeID, query: Query) -> Awaitable[None] | None:
        """Answer a query with our vote; return an awaitable if that takes longer, otherwise None.

        While the chain bootstraps, queries are not answered.
        """
        if not self._last_accepted.following:
            return None
        height, place = query.requested_height, self._last_accepted.place
        at_height = place.block_id if height >= place.height else self._last_accepted.at(height)
        if at_height is None:
            return self._vote_from_rows(node_id, query)
        self._vote(node_id, query, place, at_height)
        return None

    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a request about accepted blocks, unless its deadline passes before its turn."""
        await self.answer_in_turn(node_id, question, partial(self._answer_to, question))

    async def answer_in_turn(
        self,
        node_id: NodeID,
        question: Question | AppRequest,
        make: Callable[[], Awaitable[Answer | None]],
    ) -> None:
        """Create an answer when it is the peer's turn, and send it unless it is too late.

        The peer is charged for the bytes if they could be sent. Unspecified: if ancestors cannot be sent, the
        answer is empty, which means as in the reference that the peer has to ask another node.
        """
        seconds = question.deadline / NANOSECONDS or LONGEST_DEADLINE
        until = self._clock() + min(seconds, LONGEST_DEADLINE)
        async with self._budget.turn(node_id, until) as turn:
            answer = None if turn is None else await make()
            if turn is None or answer is None:
                return
            answer.chain_id = question.chain_id
            answer.request_id = question.request_id
            try:
                packed = await self._serve(pack, enclose(answer))
            except MessageTooLarge as error:
                _log.error("an answer of this node cannot be sent: %s", error)
                return
            if self._network.send(node_id, packed):
                turn.size = len(packed.frame)
            elif isinstance(answer, Ancestors):
                # The peer stops waiting and asks another node.
                del answer.containers[:]
                self._network.send(node_id, enclose(answer))

    async def _answer_to(self, question: Question) -> Answer | None:
        if isinstance(question, GetAcceptedFrontier):
            place = await self._last_accepted.fresh()
            return AcceptedFrontier(container_id=bytes(self._last_undecided() or place.block_id))
        if isinstance(question, GetAccepted):
            return await self._accepted(question)
        if isinstance(question, GetAncestors):
            return await self._ancestors(question)
        if isinstance(question, Get):
            return await self._block(question)
        return await self._summary(question)

    async def _summary(
        self, question: GetStateSummaryFrontier | GetAcceptedStateSummary
    ) -> StateSummaryFrontier | AcceptedStateSummary | None:
        """Return the only summary there is, that of block 0, if the chain has summaries.

        No state can be fetched from this node, so the chain needs no later ones (p2p.md 9, coreth.md 12.3).
        """
        summary = await self._serve(self._last_accepted.chain.state_summary)
        if isinstance(question, GetStateSummaryFrontier):
            return None if summary is None else StateSummaryFrontier(summary=summary)
        if summary is None:
            return None if question.heights else AcceptedStateSummary()
        ids = [keccak256(summary)] if 0 in question.heights else []
        return AcceptedStateSummary(summary_ids=ids)

    async def _accepted(self, question: GetAccepted) -> Accepted:
        asked = [as_id(raw) for raw in question.container_ids[:MAX_IDS]]
        block_ids = [block_id for block_id in asked if block_id is not None]
        heights = await self._serve(self._last_accepted.chain.height_of, block_ids)
        unstored = self._last_undecided()
        return Accepted(
            container_ids=[
                bytes(block_id)
                for block_id, height in zip(block_ids, heights, strict=True)
                if height is not None or block_id == unstored
            ]
        )

    async def _ancestors(self, question: GetAncestors) -> Ancestors | None:
        block_id = as_id(question.container_id)
        if block_id is None:
            return None
        count, size = self._config.ancestors_count, self._config.ancestors_bytes
        raws, before = ([], block_id) if self.undecided is None else self.undecided.line(block_id)
        if len(raws) < count:
            find = partial(
                self._last_accepted.chain.ancestors,
                before,
                count=count - len(raws),
                size=size,
                seconds=self._config.ancestors_time,
            )
            raws += await self._serve(find)
        ends = accumulate(len(raw) + ANCESTOR_OVERHEAD for raw in raws[:count])
        return Ancestors(
            containers=[
                raw for raw, end in zip(raws, ends, strict=False) if end <= size or raw is raws[0]
            ]
        )

    def _last_undecided(self) -> ID | None:
        return None if self.undecided is None else self.undecided.last_accepted()

    async def _block(self, question: Get) -> Put | None:
        block_id = as_id(question.container_id)
        if block_id is None:
            return None
        raw = await self._serve(self._last_accepted.chain.block, block_id)
        return None if raw is None else Put(container=raw)

    async def _vote_from_rows(self, node_id: NodeID, query: Query) -> None:
        """Answer a query for a height that is no longer in memory."""
        async with self._budget.turn(node_id, self._clock() + LONGEST_DEADLINE) as turn:
            if turn is None:
                return
            place = await self._serve(self._last_accepted.chain.last_accepted)
            find = self._last_accepted.chain.accepted_at
            (at_height,) = await self._serve(find, [query.requested_height])
        self._vote(node_id, query, place, at_height or place.block_id)

    def _vote(self, node_id: NodeID, query: Query, place: BlockRef, at_height: ID) -> None:
        chits = Chits(
            preferred_id=bytes(place.block_id),
            accepted_id=bytes(place.block_id),
            preferred_id_at_height=bytes(at_height),
            accepted_height=place.height,
        )
        chits.chain_id = query.chain_id
        chits.request_id = query.request_id
        self._network.send(node_id, enclose(chits))
