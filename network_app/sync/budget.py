"""Limits the cost of answering peers: concurrency, thread time and bytes, with priority for known peers.

Known peers are validators and bootstrappers. `PeerSlots` limits the answers in progress over all peers and
per peer. Every other peer is unknown and may be one of many certificates of a single machine. So each
unknown peer has a small budget, and all of them together have not much more. They take turns by peer,
regardless of how many requests each has sent.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from network_app.config import NetworkConfig
from network_app.peers.throttle import TokenBucket
from primitives.bounded_cache import BoundedCache
from primitives.ids import NodeID

AT_ONCE = 4
"""Number of threads that answer peers."""
AT_ONCE_FOR_ONE = 2


class PeerSlots:
    """Limits concurrent answers per peer and overall, so that a busy peer delays only itself."""

    def __init__(self, at_once: int = AT_ONCE, for_one: int = AT_ONCE_FOR_ONE) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._for_one = for_one
        self._each: dict[NodeID, asyncio.Semaphore] = {}
        self._users: Counter[NodeID] = Counter()

    def __len__(self) -> int:
        return len(self._each)

    @asynccontextmanager
    async def turn(self, node_id: NodeID) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        own = self._each.setdefault(node_id, asyncio.Semaphore(self._for_one))
        self._users[node_id] += 1
        try:
            async with own, self._all:
                yield
        finally:
            self._users[node_id] -= 1
            if not self._users[node_id]:
                del self._users[node_id], self._each[node_id]


STRANGERS_AT_ONCE = AT_ONCE // 2
"""Number of threads that answer unknown peers; the others are reserved for known ones."""
MAX_STRANGERS = 1024
"""Number of unknown peers whose costs are remembered."""
WAY_BACK = 0.2
"""Share of an unknown peer's deadline reserved for sending: a late answer would cost for nothing."""
BURST = 1.0
"""Seconds of the rates that may be used in one burst."""


@dataclass(slots=True)
class Turn:
    """An answer in progress. The time that it takes is measured."""

    size: int = 0
    """Number of bytes sent."""


class AnswerQuota:
    """An allowance of bytes and thread time that refills at a rate. A debt is paid by waiting. Pure."""

    def __init__(self, size: float, seconds: float, now: float) -> None:
        self._bytes = TokenBucket(size, BURST * size, now)
        self._seconds = TokenBucket(seconds, BURST * seconds, now)

    def wait(self, now: float) -> float:
        """Return the seconds until the debt is paid."""
        return max(self._bytes.take(0, now), self._seconds.take(0, now))

    def pay(self, size: int, seconds: float, now: float) -> None:
        """Charge the cost of an answer."""
        self._bytes.take(size, now)
        self._seconds.take(seconds, now)


class AnswerBudget:
    """Schedules answers to peers.

    Args:
        config: The rates.
        gate: Limits the number of concurrent answers.
        is_known: Whether a peer is a validator or a bootstrapper.
        clock: Returns seconds, monotonic.
    """

    def __init__(
        self,
        config: NetworkConfig,
        gate: PeerSlots,
        is_known: Callable[[NodeID], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._gate = gate
        self._is_known = is_known
        self._clock = clock
        self._in_turn = PeerSlots(MAX_STRANGERS, for_one=1)
        self._at_once = asyncio.Semaphore(STRANGERS_AT_ONCE)
        self._all = AnswerQuota(
            config.strangers_answer_bytes, config.strangers_answer_time, clock()
        )
        self._each: BoundedCache[NodeID, AnswerQuota] = BoundedCache(MAX_STRANGERS)

    def __len__(self) -> int:
        return len(self._each)

    @asynccontextmanager
    async def turn(self, node_id: NodeID, until: float) -> AsyncIterator[Turn | None]:
        """Wait for a turn to answer a peer; yield None if it would come after `until`."""
        if self._is_known(node_id):
            async with self._gate.turn(node_id):
                yield Turn() if self._clock() < until else None
            return
        until -= WAY_BACK * (until - self._clock())
        own = self._quota(node_id)
        async with self._turn_of_stranger(node_id, own, until) as in_time:
            began = self._clock()
            turn = Turn() if in_time and began < until else None
            try:
                yield turn
            finally:
                if turn is not None:
                    now = self._clock()
                    for quota in (own, self._all):
                        quota.pay(turn.size, now - began, now)

    @asynccontextmanager
    async def _turn_of_stranger(
        self, node_id: NodeID, own: AnswerQuota, until: float
    ) -> AsyncIterator[bool]:
        """Wait for the peer's earlier requests and its debt, then for the other unknown peers.

        Each unknown peer therefore has at most one request in the common queue.
        """
        async with self._in_turn.turn(node_id):
            if not await self._pay_off(own, until):
                yield False
                return
            async with self._at_once:
                if not await self._pay_off(self._all, until):
                    yield False
                    return
                async with self._gate.turn(node_id):
                    yield True

    async def _pay_off(self, quota: AnswerQuota, until: float) -> bool:
        """Wait until the debt is paid; return False immediately if that is too late."""
        while (now := self._clock()) + (seconds := quota.wait(now)) < until:
            if seconds <= 0:
                return True
            await asyncio.sleep(seconds)
        return False

    def _quota(self, node_id: NodeID) -> AnswerQuota:
        quota = self._each.get(node_id)
        if quota is None:
            quota = AnswerQuota(self._config.answer_bytes, self._config.answer_time, self._clock())
            self._each.put(node_id, quota)
        return quota
