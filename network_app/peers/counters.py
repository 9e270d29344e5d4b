"""Counters since the network started: messages, bytes, failures, and closed connections."""

import math
import time
from collections import Counter
from collections.abc import Callable

from network_app.ports import NetworkTotals
from primitives.reasons import error_name


class RunningAverage:
    """An average in which an observation loses half its weight each half-life. Times are in seconds of one clock."""

    def __init__(self, initial: float, half_life: float, now: float, weight: float = 1.0) -> None:
        self._decay = math.log(2) / half_life
        self._sum = initial * weight
        self._weight = weight
        self._at = now

    def observe(self, value: float, now: float) -> None:
        """Add an observation."""
        kept = math.exp(-self._decay * max(0.0, now - self._at))
        self._sum = self._sum * kept + value
        self._weight = self._weight * kept + 1.0
        self._at = max(self._at, now)

    @property
    def value(self) -> float:
        """The average after the latest observation."""
        return self._sum / self._weight


FAILURE_HALF_LIFE = 10.0
"""Seconds."""


class MessageCounters:
    """Messages in one direction, by kind, and the time of the latest one."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Bytes of the frames including their length prefix, by kind."""
        self.last_wall: float | None = None
        """Unix seconds."""

    def count(self, kind: str, size: int) -> float:
        """Count a message and its frame's size; return the current time in Unix seconds."""
        self.messages[kind] += 1
        self.bytes[kind] += size
        self.last_wall = now = self._wall()
        return now


class Counters:
    """All counters of a network. The kinds are those of `framing.kind`, and "unreadable"."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self.sent = MessageCounters(wall)
        self.received = MessageCounters(wall)
        self.send_failures: Counter[str] = Counter()
        """By kind; "queued" counts messages that were still queued when their connection ended."""
        self.times_connected = 0
        self.times_disconnected = 0
        self.ended: Counter[str] = Counter()
        """Ended connections and connection attempts, by the name of the reason."""
        self._failing = RunningAverage(0.0, FAILURE_HALF_LIFE, clock())

    def message_sent(self, kind: str, size: int) -> float:
        """Count a message handed to a connection; return the current time in Unix seconds."""
        self._failing.observe(0.0, self._clock())
        return self.sent.count(kind, size)

    def send_failed(self, kind: str, count: int = 1) -> None:
        """Count messages that could not be sent."""
        self.send_failures[kind] += count
        self._failing.observe(1.0, self._clock())

    def connection_ended(self, reason: BaseException) -> None:
        """Count the reason why a connection, or a connection attempt, ended."""
        self.ended[error_name(reason)] += 1

    def totals(self) -> NetworkTotals:
        """Return the sums."""
        return NetworkTotals(
            messages_sent=self.sent.messages.total(),
            messages_received=self.received.messages.total(),
            bytes_sent=self.sent.bytes.total(),
            bytes_received=self.received.bytes.total(),
            send_failures=self.send_failures.total(),
            last_sent=self.sent.last_wall,
            last_received=self.received.last_wall,
            times_connected=self.times_connected,
            times_disconnected=self.times_disconnected,
            send_fail_rate=self._failing.value,
        )
