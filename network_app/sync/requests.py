"""Requests to peers: their IDs, their timeouts, and the benching of silent peers (p2p.md 7)."""

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
from network_app.ports import Network
from network_app.sync.messages import Answer, AnswerT, Request, enclose
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import pack
from network_app.wire.p2p_pb2 import AppError, AppRequest
from primitives.ids import ID, NodeID

HALF_LIFE = 300.0
"""Seconds after which the weight of a latency is halved."""
COEFFICIENT = 2.0
"""The timeout as a multiple of the average latency."""
NUMBERS = 1 << 32
"""Request IDs are 32 bits."""
NANOSECONDS = 1_000_000_000
MAX_ASKED_AT_ONCE = 50

T = TypeVar("T")

_log = logging.getLogger(__name__)


class AdaptiveTimeout:
    """Timeout of requests: twice the running average latency, within limits. Pure."""

    def __init__(self, config: NetworkConfig, now: float) -> None:
        self._config = config
        initial = config.first_request_timeout / COEFFICIENT
        self._latency = RunningAverage(initial, HALF_LIFE, now)

    def observe(self, latency: float, now: float) -> None:
        """Record the latency of an answer, or the timeout itself if no answer arrived."""
        self._latency.observe(latency, now)

    @property
    def seconds(self) -> float:
        """The current timeout."""
        wanted = COEFFICIENT * self._latency.value
        return min(
            max(wanted, self._config.least_request_timeout), self._config.most_request_timeout
        )


class _OpenRequest(NamedTuple):
    """The handling of an answer."""

    expected: type[Answer]
    on_answer: Callable[[Answer | None], None]
    counts: bool
    """Whether a timeout counts against the peer."""
    patient: bool
    """Whether the answer is large, so that its latency is not representative."""


class _SentRequest(NamedTuple):
    """A request that is not answered yet."""

    question: _OpenRequest
    asked_at: float
    timer: asyncio.TimerHandle


class Requests:
    """The open requests of one chain. At most `most_open_requests` are open at a time."""

    def __init__(
        self,
        network: Network,
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
        self._open: dict[tuple[NodeID, int], _SentRequest] = {}
        # Application requests have odd numbers, so that the two kinds never collide.
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
        """Send a request and wait; return None on disconnection, timeout or an error answer.

        This method sets the chain, the number and the deadline of the request. `patient` waits for the
        longest timeout; use it for large answers, because a peer is read at a limited rate. `counts` says
        whether a timeout counts against the peer.
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
        """Send a request; `on_answer` is called once, with None if no answer arrives.

        Return False if it could not be sent; then `on_answer` is not called. `counts` says whether a timeout
        counts against the peer.
        """
        if len(self._open) >= self._config.most_open_requests:
            return False
        seconds = self._config.most_request_timeout if patient else self._timeout.seconds
        number = self._number(request, seconds)
        if not self._network.send(node_id, enclose(request)):
            if counts and node_id in self._network.connected():  # its send queue is full
                self._bench.failed(node_id, self._alias, self._clock())
            return False
        self._wait(node_id, number, seconds, _OpenRequest(expected, on_answer, counts, patient))
        return True

    def post_to_all(
        self,
        on_answer: Mapping[NodeID, Callable[[Answer | None], None]],
        request: Request,
        expected: type[Answer],
        *,
        counts: bool = False,
    ) -> list[NodeID]:
        """Send one request to several peers with the same bytes; return the peers it was sent to.

        Each peer has its own callback, which is called as in `post`. `counts` says whether a timeout counts
        against the peers.
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
                question = _OpenRequest(expected, deliver, counts=counts, patient=False)
                self._wait(node_id, number, seconds, question)
                asked.append(node_id)
        return asked

    def unreachable(self) -> None:
        """Count a request that was not sent to a disconnected or benched peer as a timeout.

        The reference counts those too, so the adaptive timeout is the same.
        """
        self._timeout.observe(self._timeout.seconds, self._clock())

    def answered(self, node_id: NodeID, answer: Answer) -> bool:
        """Deliver an answer; return False if no open request matches its ID and type."""
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
        """Complete all open requests to a peer with None, without counting them against it."""
        for key in [key for key in self._open if key[0] == node_id]:
            waiting = self._open.pop(key)
            waiting.timer.cancel()
            waiting.question.on_answer(None)

    def _number(self, request: Request, seconds: float) -> int:
        """Set the fields common to all requests of this chain; return the number."""
        numbers = self._app_numbers if isinstance(request, AppRequest) else self._numbers
        number = next(numbers) % NUMBERS
        request.chain_id = self._chain_id
        request.request_id = number
        request.deadline = int(seconds * NANOSECONDS)
        return number

    def _wait(self, node_id: NodeID, number: int, seconds: float, question: _OpenRequest) -> None:
        key = node_id, number
        timer = asyncio.get_running_loop().call_later(seconds, partial(self._timed_out, key))
        self._open[key] = _SentRequest(question, self._clock(), timer)

    def _timed_out(self, key: tuple[NodeID, int]) -> None:
        waiting = self._open.pop(key)
        question, now = waiting.question, self._clock()
        if question.counts and not question.patient:
            self._timeout.observe(now - waiting.asked_at, now)
        if question.counts:
            self._bench.failed(key[0], self._alias, now)
        question.on_answer(None)


async def ask_each(ask: Callable[[NodeID], Awaitable[T]], nodes: Sequence[NodeID]) -> list[T]:
    """Ask nodes concurrently, up to a limit."""
    gate = asyncio.Semaphore(MAX_ASKED_AT_ONCE)

    async def one(node_id: NodeID) -> T:
        async with gate:
            return await ask(node_id)

    return await asyncio.gather(*map(one, nodes))
