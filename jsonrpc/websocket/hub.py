"""The sockets and subscriptions of this process, by topic and by connection, within limits.

The chain decides which events match a subscription's filter, and passes them to `outbound.notify`.
"""

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from jsonrpc.dispatch.caller import UNKNOWN_CALLER, Caller
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError, ServiceEnded, TooManyConnections
from jsonrpc.websocket.outbound import GOING_AWAY, Sink, Subscription


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
    """The subscribers of this process. Safe to use from any thread."""

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
        self._ended = ""
        """The reason why the hub has ended; empty: it has not."""
        self._together = 0
        """Number of all subscriptions."""

    @property
    def connections(self) -> int:
        """Number of open sockets."""
        return len(self._connections)

    def connect(self, sink: Sink, client: str = "") -> None:
        """Register an open socket; one without a client's name (a Unix socket) counts only in the total.

        Raises:
            ServiceEnded: the hub has ended.
            TooManyConnections: the process is full, or this client has reached its limit.
        """
        with self._lock:
            if self._ended:
                raise ServiceEnded(self._ended)
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

    async def end(self, reason: str) -> None:
        """Close all sockets, and refuse further sockets. Call it on the event loop of the sockets.

        Args:
            reason: Why, in ASCII; at most the 123 bytes of a close frame.
        """
        with self._lock:
            self._ended = reason
            sinks = tuple(self._connections)
        closing = (sink.close(GOING_AWAY, reason) for sink in sinks)
        await asyncio.gather(*closing, return_exceptions=True)

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
                subscription.is_active = True
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

    def _forget(self, subscription: Subscription) -> None:
        subscription.is_active = False
        listeners = self._topics[subscription.topic]
        del listeners[subscription.id]
        if not listeners:
            del self._topics[subscription.topic]
        client = self._clients[subscription.sink]
        self._together -= 1
        self._subscribed[client] -= 1
        if not self._subscribed[client]:
            del self._subscribed[client]


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
