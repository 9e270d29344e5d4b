"""Who in this process listens to what: topics, subscriptions, and one event to all of them.

An event is encoded once; only the subscription's id differs between sockets. Which events match
a subscription's filter is the chain's work, how a message is written is in `connection`.
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
"""Notifications that are written one after the other while everybody else waits: some two milliseconds."""

WORK_OF_FIRST_PIECE: Final = 512
"""Notifications that a socket is handed first of many: its client reads them while the next ones, twice as many each
time, are made."""

WORK_OF_PUSH: Final = 32
"""As many notifications take as long as to hand a socket some."""

BYTES_OF_WORK: Final = 256
"""So many bytes more of a notification, which are copied some times, take as long as another one."""


Result = bytes | memoryview
"""An encoded result."""


class Sink(Protocol):
    """The socket's side of a subscription."""

    def push(self, text: bytes) -> None:
        """Send a text message, or queue it; never waits."""

    def push_all(self, begin: bytes, middles: Sequence[Result], end: bytes) -> None:
        """Send text messages that begin and end alike, in one piece where that can be; never waits."""

    def is_gone(self) -> bool:
        """Whether its peer has hung up. May be asked in any thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """One subscription of one connection.

    `payload` belongs to the chain (a filter, a flag); `prefix` is the notification's text up to
    its result.
    """

    id: str
    topic: str
    payload: object
    sink: Sink
    prefix: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Connections of a process, subscriptions of each, and connections of one client.

    `together`: subscriptions of all connections, which take half a kilobyte each; one client has as
    large a part of them as it may have of the connections.
    """

    connections: int = 10_000
    subscriptions: int = 1_000
    of_client: int = 7_500
    together: int = 200_000


def random_id() -> str:
    """128 random bits as a quantity."""
    return hex(secrets.randbits(128))


class Hub:
    """The listeners of this process.

    `publish` and `send` belong to the event loop's thread; everything else may be called from any thread.
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
        """Connections of each client that has some."""
        self._subscribed: Counter[str] = Counter()
        """Subscriptions likewise."""
        self._together = 0
        """All subscriptions."""

    @property
    def connections(self) -> int:
        """Open sockets."""
        return len(self._connections)

    def connect(self, sink: Sink, client: str = "") -> None:
        """A socket was opened; one without a client's name (of a Unix socket) counts only among all.

        Raises:
            TooManyConnections: the process is full, or this client has its part of it.
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
        """A socket is gone, and all its subscriptions with it."""
        with self._lock:
            for subscription in self._connections.pop(sink, {}).values():
                self._forget(subscription)
            client = self._clients.pop(sink, None)
            if client is not None:
                self._of[client] -= 1
                if not self._of[client]:
                    del self._of[client]

    def open(self, sink: Sink, topic: str, payload: object = None) -> Subscription:
        """Make a subscription that hears nothing until it is activated."""
        identifier = self._new_id()
        prefix = (
            f'{{"jsonrpc":"2.0","method":"{self._method}",'
            f'"params":{{"subscription":"{identifier}","result":'
        )
        return Subscription(identifier, topic, payload, sink, prefix.encode())

    def room(self, sink: Sink) -> int:
        """How many more subscriptions a connection may have."""
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
        """From now on it hears its topic; nothing happens if its socket is gone."""
        with self._lock:
            own = self._connections.get(subscription.sink)
            if own is not None:
                own[subscription.id] = subscription
                self._topics.setdefault(subscription.topic, {})[subscription.id] = subscription
                self._subscribed[self._clients[subscription.sink]] += 1
                self._together += 1

    def close(self, sink: Sink, identifier: str) -> bool:
        """End a subscription; False if that connection has none of that id."""
        with self._lock:
            subscription = self._connections.get(sink, {}).pop(identifier, None)
            if subscription is None:
                return False
            self._forget(subscription)
            return True

    def subscriptions(self, topic: str) -> list[Subscription]:
        """All that listen to a topic now, oldest first."""
        with self._lock:
            return list(self._topics.get(topic, {}).values())

    def counts(self) -> dict[str, int]:
        """How many listen to each topic now."""
        with self._lock:
            return {topic: len(listeners) for topic, listeners in self._topics.items()}

    async def publish(self, topic: str, result: bytes) -> int:
        """Send one encoded result to all that listen to a topic; returns to how many. Others get their turns between."""
        return await self.send(self.subscriptions(topic), (result,))

    async def send(self, subscriptions: Iterable[Subscription], results: Iterable[Result]) -> int:
        """Send encoded results to each of some subscriptions, unless it has ended; returns to how many.

        Many results go in pieces, each to all before the next one. Between two pieces, and after `WORK_AT_ONCE`, the
        event loop has a turn, in which subscriptions may end.
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
    """Give results in the pieces that are written at once, and what work each is."""
    most = WORK_OF_FIRST_PIECE
    piece: list[Result] = []
    work = 0
    for result in results:
        more = 1 + len(result) // BYTES_OF_WORK
        if piece and work + more > most:
            yield piece, work
            piece, work, most = [], 0, min(2 * most, WORK_AT_ONCE)
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


class Exchange:
    """What a handler gets as the connection: one message's view of its socket, and whose that is.

    Subscriptions made here are activated by `confirm`, after the answer with their ids was sent:
    so no notification can overtake its confirmation.
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
        """Whether nobody is there any more who waits for an answer. May be asked in any thread."""
        return self._sink.is_gone()

    def subscribe(self, topic: str, payload: object = None) -> str:
        """Subscribe the socket; returns the id for the answer.

        Unspecified: geth has no limit of subscriptions; here the code is -32005.

        Raises:
            JsonRpcError: the socket has too many subscriptions, or its client, or all together.
        """
        if self._hub.room(self._sink) <= len(self._opened):
            raise JsonRpcError(LIMIT_EXCEEDED, "too many subscriptions")
        subscription = self._hub.open(self._sink, topic, payload)
        self._opened[subscription.id] = subscription
        return subscription.id

    def unsubscribe(self, identifier: str) -> bool:
        """End a subscription of this socket; False if it has none of that id."""
        opened = self._opened.pop(identifier, None)
        return opened is not None or self._hub.close(self._sink, identifier)

    def confirm(self) -> None:
        """The answer is on its way: what was subscribed in it begins to hear."""
        for subscription in self._opened.values():
            self._hub.activate(subscription)
        self._opened.clear()
