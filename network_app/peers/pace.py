"""How fast one peer is read (p2p.md 7): as one that is known, or as a stranger among others."""

from collections import OrderedDict
from collections.abc import Callable

from network_app.config import NetworkConfig
from network_app.peers.throttle import TokenBucket
from network_app.wire.framing import MAX_FRAME

RECENT = 10.0
"""Seconds for which a stranger that was read counts among those that share the rate."""
LEAST_BURST = 128 * 1024
"""Bytes that a stranger may send at once, however many there are: its handshake, and questions."""


class Crowd:
    """The strangers that were read recently. Each has an equal part of what is read of all.

    Nobody pays for another: who sends more than its part waits alone.
    """

    def __init__(self, config: NetworkConfig) -> None:
        self._rate = config.strangers_rate
        self._read: OrderedDict[Pace, float] = OrderedDict()
        """When each was read last, longest ago first."""

    def __len__(self) -> int:
        return len(self._read)

    def part_of(self, pace: "Pace", now: float) -> float:
        """Count a stranger as one that is read, and return its bytes a second."""
        self._read[pace] = now
        self._read.move_to_end(pace)
        while now - next(iter(self._read.values())) > RECENT:
            self._read.popitem(last=False)
        return self._rate / len(self._read)

    def leave(self, pace: "Pace") -> None:
        """Count one no more."""
        self._read.pop(pace, None)


class Pace:
    """A rate of the peer's own, for a stranger no more than its part of what all strangers have.

    Args:
        config: The rates.
        crowd: All strangers.
        is_stranger: Whether the peer is one now.
        now: Seconds of the clock by which all times here go.
    """

    def __init__(
        self,
        config: NetworkConfig,
        crowd: Crowd,
        is_stranger: Callable[[], bool],
        now: float,
    ) -> None:
        self._config = config
        self._own = TokenBucket(config.stranger_rate, config.peer_burst, now)
        self._crowd = crowd
        self._is_stranger = is_stranger
        self._asked = 0.0
        """Bytes that the peer was asked for and has not sent: they cost nothing."""

    def take(self, cost: float, now: float, *, alone: bool = False) -> float:
        """Take from what may be read; return the seconds to wait until it is paid.

        `alone` leaves the other strangers out: so nobody's handshake waits for their messages.
        """
        free = min(cost, self._asked)
        self._asked -= free
        self._own.change(*self._limits(now, alone=alone), now)
        return self._own.take(cost - free, now)

    def expect(self, size: int) -> None:
        """Make room for what the peer was asked for, one frame at most."""
        self._asked = min(MAX_FRAME, self._asked + size)

    def end(self) -> None:
        """Leave one's part to the others."""
        self._crowd.leave(self)

    def _limits(self, now: float, *, alone: bool) -> tuple[float, float]:
        """Return bytes a second, and bytes at once."""
        config = self._config
        if not self._is_stranger():
            self._crowd.leave(self)
            return config.peer_rate, config.peer_burst
        if alone:
            return config.stranger_rate, config.peer_burst
        part = self._crowd.part_of(self, now)
        burst = min(config.peer_burst, max(LEAST_BURST, part))
        return min(config.stranger_rate, part), burst
