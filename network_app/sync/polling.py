"""Asks validators now and then what they have accepted: so lost pushes are noticed (p2p.md 10.4)."""

import asyncio
from contextlib import suppress
from functools import partial

from network_app.config import NetworkConfig
from network_app.sync.choosing import Choice
from network_app.sync.following import Follower
from network_app.sync.head import Head
from network_app.sync.messages import Answer
from network_app.sync.requests import Requests
from network_app.wire.p2p_pb2 import Chits, PullQuery
from primitives.ids import NodeID

MOST_OPEN = 4
"""Queries that may be unanswered."""
FACTOR = 1.5
"""By which the interval grows while nothing new is heard of."""


class Interval:
    """Seconds that grow from query to query, and begin anew with each block that comes. Pure."""

    def __init__(self, config: NetworkConfig) -> None:
        self._first = config.poll_interval
        self._slowest = config.slowest_poll
        self.seconds = self._first

    def grow(self) -> None:
        """Wait longer the next time."""
        self.seconds = min(self.seconds * FACTOR, self._slowest)

    def reset(self) -> None:
        """Begin anew."""
        self.seconds = self._first


class Poller:
    """The queries of one chain."""

    def __init__(
        self,
        head: Head,
        follower: Follower,
        requests: Requests,
        choice: Choice,
        config: NetworkConfig,
    ) -> None:
        self._head = head
        self._follower = follower
        self._requests = requests
        self._choice = choice
        self._config = config
        self._interval = Interval(config)
        self._hurry = asyncio.Event()
        self._open = 0

    def hurry(self) -> None:
        """Ask soon, and often for a while."""
        self._interval.reset()
        self._hurry.set()

    async def run(self) -> None:
        """Ask until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            asked_at = loop.time()
            self._query()
            self._interval.grow()
            self._hurry.clear()
            # Whoever hurries makes the interval that runs shorter.
            while (until := asked_at + self._interval.seconds) > loop.time():
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(until):
                        await self._hurry.wait()
                self._hurry.clear()

    def _query(self) -> None:
        if not self._head.following:
            return
        self._head.obstacle.lapse(self._config.unnamed_for)
        if self._open >= MOST_OPEN:
            return
        node_id = self._whom()
        if node_id is not None:
            answered = partial(self._answered, node_id)
            if self._requests.post(node_id, question(self._head), Chits, answered):
                self._open += 1

    def _whom(self) -> NodeID | None:
        """Return whom to ask: who makes blocks, where only a word of theirs helps, else a validator."""
        if self._follower.lacks_word:
            known = [one for one in self._choice.connected() if one in self._head.producers]
            if known:
                return self._choice.in_order(self._head.chain.alias, known)[0]
        return self._choice.someone(self._head.chain.alias)

    def _answered(self, node_id: NodeID, answer: Answer | None) -> None:
        self._open -= 1
        self._heard(node_id, answer)

    def _heard(self, node_id: NodeID, answer: Answer | None) -> None:
        if isinstance(answer, Chits):
            self._follower.heard(node_id, answer)


def question(head: Head) -> PullQuery:
    """Return the question what a peer has accepted, which also says what is accepted here."""
    place = head.place
    return PullQuery(container_id=bytes(place.block_id), requested_height=place.height + 1)
