"""Questions to peers: their numbers, how long an answer is waited for, and who does not answer (p2p.md 7)."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.peers.counters import RunningAverage
from network_app.ports import PeerNetwork
from network_app.sync.messages import Answer, AnswerT, Request, enclose
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import pack
from network_app.wire.p2p_pb2 import AppError, AppRequest
from primitives.ids import ID, NodeID

HALF_LIFE = 300.0
"""Seconds after which a latency counts half."""
COEFFICIENT = 2.0
"""How many average latencies an answer is waited for."""
NUMBERS = 1 << 32
"""Request IDs are 32 bits."""
NANOSECONDS = 1_000_000_000
MOST_ASKED_AT_ONCE = 50

T = TypeVar("T")

_log = logging.getLogger(__name__)


class AdaptiveTimeout:
    """How long to wait for an answer: twice the running average latency, within limits. Pure."""

    def __init__(self, config: NetworkConfig, now: float) -> None:
        self._config = config
        initial = config.first_request_timeout / COEFFICIENT
        self._latency = RunningAverage(initial, HALF_LIFE, now)

    def observe(self, latency: float, now: float) -> None:
        """Take in how long an answer took; the time-out itself when none came."""
        self._latency.observe(latency, now)

    @property
    def seconds(self) -> float:
        """The time to wait from now on."""
        wanted = COEFFICIENT * self._latency.value
        return min(
            max(wanted, self._config.least_request_timeout), self._config.most_request_timeout
        )


class _Question(NamedTuple):
    """What becomes of an answer."""

    expected: type[Answer]
    on_answer: Callable[[Answer | None], None]
    counts: bool
    """Whether silence is held against the peer."""
    patient: bool
    """Whether the answer is large, so that its time says little of others'."""


class _Open(NamedTuple):
    """A question whose answer has not come."""

    question: _Question
    asked_at: float
    timer: asyncio.TimerHandle


class Requests:
    """The open questions of one chain. Bounded: above `most_open_requests` nothing is asked."""

    def __init__(
        self,
        network: PeerNetwork,
        bench: Bench,
        config: NetworkConfig,
        *,
        alias: str,
        chain_id: ID,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._bench = bench
        self._config = config
        self._alias = alias
        self._chain_id = bytes(chain_id)
        self._clock = clock
        self._timeout = AdaptiveTimeout(config, clock())
        self._open: dict[tuple[NodeID, int], _Open] = {}
        # Applications have the odd numbers, so that the two never meet.
        self._numbers = itertools.count(2, 2)
        self._app_numbers = itertools.count(1, 2)

    def __len__(self) -> int:
        return len(self._open)

    async def ask(
        self,
        node_id: NodeID,
        request: Request,
        expected: type[AnswerT],
        *,
        counts: bool = True,
        patient: bool = False,
    ) -> AnswerT | None:
        """Ask and wait; None when the peer is gone, does not answer in time, or answers an error.

        The chain, the number and the deadline are put into the request here. `patient` waits as long
        as is ever waited: for large answers, since a peer is read at a limited rate. `counts` says
        whether silence is held against the peer.
        """
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def deliver(answer: Answer | None) -> None:
            if not answered.done():
                answered.set_result(answer)

        if not self.post(node_id, request, expected, deliver, counts=counts, patient=patient):
            return None
        answer = await answered
        return answer if isinstance(answer, expected) else None

    def post(
        self,
        node_id: NodeID,
        request: Request,
        expected: type[Answer],
        on_answer: Callable[[Answer | None], None],
        *,
        counts: bool = True,
        patient: bool = False,
    ) -> bool:
        """Ask and go on; `on_answer` is called once, with None instead of an answer that does not come.

        False when it could not be asked; then `on_answer` is not called. `counts` says whether
        silence is held against the peer.
        """
        if len(self._open) >= self._config.most_open_requests:
            return False
        seconds = self._config.most_request_timeout if patient else self._timeout.seconds
        number = self._number(request, seconds)
        if not self._network.send(node_id, enclose(request)):
            if counts and node_id in self._network.connected():  # its queue is full
                self._bench.failed(node_id, self._alias, self._clock())
            return False
        self._wait(node_id, number, seconds, _Question(expected, on_answer, counts, patient))
        return True

    def post_to_all(
        self,
        on_answer: Mapping[NodeID, Callable[[Answer | None], None]],
        request: Request,
        expected: type[Answer],
        *,
        counts: bool = False,
    ) -> list[NodeID]:
        """Ask several peers the same with the same bytes, and go on; return who was asked.

        Each has a function that is called as that of `post`. `counts` says whether silence is held
        against them.
        """
        seconds = self._timeout.seconds
        number = self._number(request, seconds)
        try:
            packed = pack(enclose(request))
        except MessageTooLarge as error:
            _log.error("a request of this node cannot be sent: %s", error)
            return []
        asked = []
        for node_id, deliver in on_answer.items():
            if len(self._open) >= self._config.most_open_requests:
                break
            if self._network.send(node_id, packed):
                question = _Question(expected, deliver, counts=counts, patient=False)
                self._wait(node_id, number, seconds, question)
                asked.append(node_id)
        return asked

    def unreachable(self) -> None:
        """Note that a peer was not asked since it is away or benched: as if it had not answered in time.

        So the time that answers are waited for is the reference's, which counts those too.
        """
        self._timeout.observe(self._timeout.seconds, self._clock())

    def answered(self, node_id: NodeID, answer: Answer) -> bool:
        """Deliver an answer; False when nobody waits for it, or for another kind of answer."""
        key = node_id, answer.request_id
        waiting = self._open.get(key)
        if waiting is None or not isinstance(answer, (waiting.question.expected, AppError)):
            return False
        del self._open[key]
        waiting.timer.cancel()
        question, now = waiting.question, self._clock()
        if not question.patient:
            self._timeout.observe(now - waiting.asked_at, now)
        self._bench.answered(node_id, self._alias, now)
        question.on_answer(answer)
        return True

    def disconnected(self, node_id: NodeID) -> None:
        """Answer all that a peer was asked with None. It is not held against it."""
        for key in [key for key in self._open if key[0] == node_id]:
            waiting = self._open.pop(key)
            waiting.timer.cancel()
            waiting.question.on_answer(None)

    def _number(self, request: Request, seconds: float) -> int:
        """Fill in what all requests of this chain have, and return the number."""
        numbers = self._app_numbers if isinstance(request, AppRequest) else self._numbers
        number = next(numbers) % NUMBERS
        request.chain_id = self._chain_id
        request.request_id = number
        request.deadline = int(seconds * NANOSECONDS)
        return number

    def _wait(self, node_id: NodeID, number: int, seconds: float, question: _Question) -> None:
        key = node_id, number
        timer = asyncio.get_running_loop().call_later(seconds, partial(self._timed_out, key))
        self._open[key] = _Open(question, self._clock(), timer)

    def _timed_out(self, key: tuple[NodeID, int]) -> None:
        waiting = self._open.pop(key)
        question, now = waiting.question, self._clock()
        if question.counts and not question.patient:
            self._timeout.observe(now - waiting.asked_at, now)
        if question.counts:
            self._bench.failed(key[0], self._alias, now)
        question.on_answer(None)


async def ask_each(ask: Callable[[NodeID], Awaitable[T]], nodes: Sequence[NodeID]) -> list[T]:
    """Ask nodes beside each other, but not too many at once."""
    gate = asyncio.Semaphore(MOST_ASKED_AT_ONCE)

    async def one(node_id: NodeID) -> T:
        async with gate:
            return await ask(node_id)

    return await asyncio.gather(*map(one, nodes))
