"""Virtual time, and messages with latency that may be lost or reordered, all determined by a seed."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

Deliver = Callable[[int, str, tuple[Any, ...]], None]
"""Receives the sender's number, the kind of message and its content."""


class _Event(NamedTuple):
    time: float
    number: int
    work: Callable[[], None]


@dataclass
class Bus:
    """The network between nodes, which are identified by numbers.

    Args:
        random: Source of all randomness of a run.
        loss: Share of the messages that are lost.
        latency: Least and most seconds for the delivery of a message.
    """

    random: Random
    loss: float = 0.0
    latency: tuple[float, float] = (0.005, 0.05)
    now: float = 0.0
    """Seconds since the start."""
    sent: int = 0
    """The number of sent messages."""
    groups: list[set[int]] = field(default_factory=list)
    """The parts of a partitioned network; empty: not partitioned."""

    def __post_init__(self) -> None:
        self._events: list[_Event] = []
        self._count = 0
        self._receivers: dict[int, Deliver] = {}

    def connect(self, node: int, deliver: Deliver) -> None:
        """Register the receiver of a node's messages."""
        self._receivers[node] = deliver

    def disconnect(self, node: int) -> None:
        """Drop all further messages to a node."""
        self._receivers.pop(node, None)

    def hears(self, sender: int, receiver: int) -> bool:
        """Return whether messages get from one node to another."""
        if sender not in self._receivers or receiver not in self._receivers:
            return False
        return not self.groups or any({sender, receiver} <= group for group in self.groups)

    def send(self, sender: int, receiver: int, kind: str, content: tuple[Any, ...]) -> None:
        """Send a message; a node's message to itself arrives immediately and reliably."""
        self.sent += 1
        if sender == receiver:
            self.at(self.now, lambda: self._deliver(sender, receiver, kind, content))
            return
        if not self.hears(sender, receiver) or self.random.random() < self.loss:
            return
        delay = self.random.uniform(*self.latency)
        self.at(self.now + delay, lambda: self._deliver(sender, receiver, kind, content))

    def at(self, time: float, work: Callable[[], None]) -> None:
        """Schedule work at a time; work for the same time runs in the order of scheduling."""
        self._count += 1
        heapq.heappush(self._events, _Event(time, self._count, work))

    def run(self, until: float, done: Callable[[], bool]) -> bool:
        """Advance time to `until`, or until a condition holds; return whether it holds."""
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
