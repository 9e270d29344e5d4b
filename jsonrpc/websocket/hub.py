"""Subscriptions of this process: topics, their subscribers, and the delivery of events.

An event is encoded once; only the subscription's id differs between sockets. The chain decides which events match
a subscription's filter; `connection` writes the messages.
"""

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from jsonrpc.dispatch.caller import UNKNOWN_CALLER, Caller
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError, TooManyConnections

WORK_AT_ONCE: Final = 8_192
"""Notifications written before other work gets a turn: about two milliseconds."""

WORK_OF_FIRST_PIECE: Final = 512
"""Notifications in the first of many pieces for a socket: its client reads them while the next pieces, each twice as
large, are prepared."""

WORK_OF_PUSH: Final = 32
"""Cost of one write to a socket, in notifications."""

BYTES_OF_WORK: Final = 256
"""Bytes of a notification that cost as much as another notification, because they are copied a few times."""


Result = bytes | memoryview
"""An encoded result."""


class Sink(Protocol):
    """The socket's side of a subscription."""

    def push(self, text: bytes) -> None:
        """Send a text message, or queue it; never waits."""

    def push_all(self, begin: bytes, middles: Sequence[Result], end: bytes) -> None:
        """Send text messages with a common beginning and end, in one write if possible; never waits."""

    def is_gone(self) -> bool:
        """Return whether its peer has disconnected. Can be called in any thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """One subscription of one connection.

    `payload` belongs to the chain (a filter, a flag); `prefix` is the notification's text before its
    result.
    """

    id: str
    topic: str
    payload: object
    sink: Sink
    prefix: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Limits: connections of a process, subscriptions of each, and connections of one client.

    `together` limits the subscriptions of all connections, which take half a kilobyte each; one client may have
    the same share of them as of the connections.
    """

    connections: int = 10_000
    subscriptions: int = 1_000
    of_client: int = 7_500
    together: int = 200_000


def random_id() -> str:
    """Return 128 random bits as a quantity."""
    return hex(secrets.randbits(128))


class Hub:
    """The subscribers of this process.

    `publish` and `send` must be called in the event loop's thread; everything else in any thread.
    """

    def __init__(
        self,
        limits: HubLimits = HubLimits(),
        method: str = "eth_subscription",
        new_id: Callable[[], str] = random_id,
    ) -> None:
        self._limits = limits
        self._method = method
        self._new_id = new_id
        self._lock = threading.Lock()
        self._connections: dict[Sink, dict[str, Subscription]] = {}
        self._topics: dict[str, dict[str, Subscription]] = {}
        self._clients: dict[Sink, str] = {}
        self._of: Counter[str] = Counter()
        """Number of connections by client."""
        self._subscribed: Counter[str] = Counter()
        """Number of subscriptions by client."""
        self._together = 0
        """Number of all subscriptions."""

    @property
    def connections(self) -> int:
        """Number of open sockets."""
        return len(self._connections)

    def connect(self, sink: Sink, client: str = "") -> None:
        """Register an open socket; one without a client's name (a Unix socket) counts only in the total.

        Raises:
            TooManyConnections: the process is full, or this client has reached its limit.
        """
        with self._lock:
            if len(self._connections) >= self._limits.connections:
                raise TooManyConnections
            if client and self._of[client] >= self._limits.of_client:
                raise TooManyConnections
            self._connections[sink] = {}
            self._clients[sink] = client
            self._of[client] += 1

    def disconnect(self, sink: Sink) -> None:
        """Remove a closed socket with all its subscriptions."""
        with self._lock:
            for subscription in self._connections.pop(sink, {}).values():
                self._forget(subscription)
            client = self._clients.pop(sink, None)
            if client is not None:
                self._of[client] -= 1
                if not self._of[client]:
                    del self._of[client]

    def open(self, sink: Sink, topic: str, payload: object = None) -> Subscription:
        """Create a subscription that receives nothing until it is activated."""
        identifier = self._new_id()
        prefix = (
            f'{{"jsonrpc":"2.0","method":"{self._method}",'
            f'"params":{{"subscription":"{identifier}","result":'
        )
        return Subscription(identifier, topic, payload, sink, prefix.encode())

    def remaining(self, sink: Sink) -> int:
        """Return how many more subscriptions a connection may have."""
        limits = self._limits
        with self._lock:
            own = limits.subscriptions - len(self._connections.get(sink, ()))
            among_all = limits.together - self._together
            client = self._clients.get(sink)
            if not client:
                return min(own, among_all)
            part = limits.together * limits.of_client // max(1, limits.connections)
            return min(own, among_all, part - self._subscribed[client])

    def activate(self, subscription: Subscription) -> None:
        """Start the delivery of a topic's events to a subscription; does nothing if its socket is gone."""
        with self._lock:
            own = self._connections.get(subscription.sink)
            if own is not None:
                own[subscription.id] = subscription
                self._topics.setdefault(subscription.topic, {})[subscription.id] = subscription
                self._subscribed[self._clients[subscription.sink]] += 1
                self._together += 1

    def close(self, sink: Sink, identifier: str) -> bool:
        """End a subscription; return False if that connection has none with that id."""
        with self._lock:
            subscription = self._connections.get(sink, {}).pop(identifier, None)
            if subscription is None:
                return False
            self._forget(subscription)
            return True

    def subscriptions(self, topic: str) -> list[Subscription]:
        """Return all subscriptions to a topic, oldest first."""
        with self._lock:
            return list(self._topics.get(topic, {}).values())

    def counts(self) -> dict[str, int]:
        """Return the number of subscriptions by topic."""
        with self._lock:
            return {topic: len(listeners) for topic, listeners in self._topics.items()}

    async def publish(self, topic: str, result: bytes) -> int:
        """Send one encoded result to all subscribers of a topic; return their number. Yields to other tasks."""
        return await self.send(self.subscriptions(topic), (result,))

    async def send(self, subscriptions: Iterable[Subscription], results: Iterable[Result]) -> int:
        """Send encoded results to each of some subscriptions, unless it has ended; return the number reached.

        Many results are sent in pieces, each to all subscriptions before the next one. Between two pieces, and after
        `WORK_AT_ONCE`, the event loop gets a turn, in which subscriptions may end.
        """
        members = list(subscriptions)
        reached = done = 0
        for place, (piece, work) in enumerate(_pieces(results)):
            if done > 0:
                done = 0
                await asyncio.sleep(0)
            for subscription in members:
                if not self._is_active(subscription):
                    continue
                reached += place == 0
                _push(subscription, piece)
                done += WORK_OF_PUSH + work
                if done >= WORK_AT_ONCE:
                    done = 0
                    await asyncio.sleep(0)
        return reached

    def _is_active(self, subscription: Subscription) -> bool:
        return subscription.id in self._topics.get(subscription.topic, ())

    def _forget(self, subscription: Subscription) -> None:
        listeners = self._topics[subscription.topic]
        del listeners[subscription.id]
        if not listeners:
            del self._topics[subscription.topic]
        client = self._clients[subscription.sink]
        self._together -= 1
        self._subscribed[client] -= 1
        if not self._subscribed[client]:
            del self._subscribed[client]


def _pieces(results: Iterable[Result]) -> Iterator[tuple[list[Result], int]]:
    """Yield results in pieces that are written together, each with its cost."""
    work_limit = WORK_OF_FIRST_PIECE
    piece: list[Result] = []
    work = 0
    for result in results:
        more = 1 + len(result) // BYTES_OF_WORK
        if piece and work + more > work_limit:
            yield piece, work
            piece, work, work_limit = [], 0, min(2 * work_limit, WORK_AT_ONCE)
        piece.append(result)
        work += more
    if piece:
        yield piece, work


def _push(subscription: Subscription, results: Sequence[Result]) -> None:
    """Send results to a subscription, as notifications."""
    if len(results) == 1:
        subscription.sink.push(b"".join((subscription.prefix, results[0], b"}}")))
    else:
        subscription.sink.push_all(subscription.prefix, results, b"}}")


class SocketExchange:
    """The connection as seen by a handler: one message's view of its socket, and its client.

    Subscriptions made here are activated by `confirm`, after the answer with their ids has been sent, so that no
    notification arrives before its confirmation.
    """

    __slots__ = ("_hub", "_opened", "_sink", "caller", "client")

    def __init__(
        self, hub: Hub, sink: Sink, client: str = "", caller: Caller = UNKNOWN_CALLER
    ) -> None:
        self._hub = hub
        self._sink = sink
        self._opened: dict[str, Subscription] = {}
        self.client = client
        self.caller = caller

    def is_gone(self) -> bool:
        """Return whether the client has disconnected. Can be called in any thread."""
        return self._sink.is_gone()

    def subscribe(self, topic: str, payload: object = None) -> str:
        """Subscribe the socket; return the id for the answer.

        Unspecified: geth has no limit on subscriptions; here the code is -32005.

        Raises:
            JsonRpcError: the socket, its client, or the process has too many subscriptions.
        """
        if self._hub.remaining(self._sink) <= len(self._opened):
            raise JsonRpcError(LIMIT_EXCEEDED, "too many subscriptions")
        subscription = self._hub.open(self._sink, topic, payload)
        self._opened[subscription.id] = subscription
        return subscription.id

    def unsubscribe(self, identifier: str) -> bool:
        """End a subscription of this socket; return False if it has none with that id."""
        opened = self._opened.pop(identifier, None)
        return opened is not None or self._hub.close(self._sink, identifier)

    def confirm(self) -> None:
        """Activate the subscriptions made in this message, because its answer is on its way."""
        for subscription in self._opened.values():
            self._hub.activate(subscription)
        self._opened.clear()
