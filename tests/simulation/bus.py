"""Virtual time, and messages that take some of it, get lost or overtake each other; all by one seed."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

Deliver = Callable[[int, str, tuple[Any, ...]], None]
"""Takes the sender's number, the kind of message and what is in it."""


class _Event(NamedTuple):
    time: float
    number: int
    work: Callable[[], None]


@dataclass
class Bus:
    """The network between nodes that are numbers.

    Args:
        random: All chance of a run.
        loss: Share of the messages that get lost.
        latency: Least and most seconds that a message takes.
    """

    random: Random
    loss: float = 0.0
    latency: tuple[float, float] = (0.005, 0.05)
    now: float = 0.0
    """Seconds since the beginning."""
    sent: int = 0
    """Messages that were sent."""
    groups: list[set[int]] = field(default_factory=list)
    """Who hears whom while the network is apart; all where there is none."""

    def __post_init__(self) -> None:
        self._events: list[_Event] = []
        self._count = 0
        self._receivers: dict[int, Deliver] = {}

    def connect(self, node: int, deliver: Deliver) -> None:
        """Let a node receive."""
        self._receivers[node] = deliver

    def disconnect(self, node: int) -> None:
        """Lose all that is sent to a node from now on."""
        self._receivers.pop(node, None)

    def hears(self, sender: int, receiver: int) -> bool:
        """Say whether messages get from one node to another."""
        if sender not in self._receivers or receiver not in self._receivers:
            return False
        return not self.groups or any({sender, receiver} <= group for group in self.groups)

    def send(self, sender: int, receiver: int, kind: str, content: tuple[Any, ...]) -> None:
        """Send a message; what a node sends to itself comes at once and surely."""
        self.sent += 1
        if sender == receiver:
            self.at(self.now, lambda: self._deliver(sender, receiver, kind, content))
            return
        if not self.hears(sender, receiver) or self.random.random() < self.loss:
            return
        delay = self.random.uniform(*self.latency)
        self.at(self.now + delay, lambda: self._deliver(sender, receiver, kind, content))

    def at(self, time: float, work: Callable[[], None]) -> None:
        """Do something at a time; what is at the same time is done in the order in which it came."""
        self._count += 1
        heapq.heappush(self._events, _Event(time, self._count, work))

    def run(self, until: float, done: Callable[[], bool]) -> bool:
        """Let time pass up to a moment, or until something is done; say whether it is."""
        while self._events and self._events[0].time <= until:
            if done():
                return True
            event = heapq.heappop(self._events)
            self.now = event.time
            event.work()
        return done()

    def _deliver(self, sender: int, receiver: int, kind: str, content: tuple[Any, ...]) -> None:
        if sender == receiver or self.hears(sender, receiver):
            deliver = self._receivers.get(receiver)
            if deliver is not None:
                deliver(sender, kind, content)
