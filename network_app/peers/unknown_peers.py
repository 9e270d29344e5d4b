"""The rate at which a peer is read, and the limits shared by all unknown peers (p2p.md 7).

An unknown peer ("stranger") neither validates nor was dialled by this node. However many there are, the
known peers are served as if there were few: unknown peers share one read rate, and a limit on the bytes that
are queued for sending to them.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from network_app.config import NetworkConfig
from network_app.peers.errors import PeerReason, TimedOut
from network_app.peers.throttle import TokenBucket
from network_app.wire.framing import MAX_FRAME

RECENT = 10.0
"""Seconds for which an unknown peer counts among those that share the rate after it was read."""
MIN_BURST = 128 * 1024
"""Bytes that an unknown peer may send in one burst, whatever their number: its handshake, and requests."""


class UnknownPeers:
    """The unknown peers that were read recently. Each gets an equal share of their total rate.

    A peer that exceeds its share slows down only itself.
    """

    def __init__(self, config: NetworkConfig) -> None:
        self._rate = config.strangers_rate
        self._read: OrderedDict[ReadThrottle, float] = OrderedDict()
        """When each was read last, in order from the oldest."""

    def __len__(self) -> int:
        return len(self._read)

    def part_of(self, throttle: "ReadThrottle", now: float) -> float:
        """Count an unknown peer as recently read, and return its share in bytes per second."""
        self._read[throttle] = now
        self._read.move_to_end(throttle)
        while now - next(iter(self._read.values())) > RECENT:
            self._read.popitem(last=False)
        return self._rate / len(self._read)

    def leave(self, throttle: "ReadThrottle") -> None:
        """Stop counting a peer."""
        self._read.pop(throttle, None)


class ReadThrottle:
    """The peer's own rate limit; that of an unknown peer is at most its share of the total for all of them.

    Args:
        config: The rates.
        unknown_peers: All unknown peers.
        is_stranger: Returns whether the peer is currently unknown.
        now: Current time in seconds, of the clock used for all times here.
    """

    def __init__(
        self,
        config: NetworkConfig,
        unknown_peers: UnknownPeers,
        is_stranger: Callable[[], bool],
        now: float,
    ) -> None:
        self._config = config
        self._own = TokenBucket(config.stranger_rate, config.peer_burst, now)
        self._unknown_peers = unknown_peers
        self._is_stranger = is_stranger
        self._asked = 0.0
        """Bytes that the peer was asked for and has not sent; they cost nothing."""

    def take(self, cost: float, now: float, *, alone: bool = False) -> float:
        """Charge the rate; return the seconds to wait until the bucket is no longer in debt.

        `alone` ignores the other unknown peers, so that their messages do not delay a handshake.
        """
        free = min(cost, self._asked)
        self._asked -= free
        self._own.change(*self._limits(now, alone=alone), now)
        return self._own.take(cost - free, now)

    def expect(self, size: int) -> None:
        """Allow the bytes that the peer was asked for, at most one frame."""
        self._asked = min(MAX_FRAME, self._asked + size)

    def end(self) -> None:
        """Release the peer's share to the others."""
        self._unknown_peers.leave(self)

    def _limits(self, now: float, *, alone: bool) -> tuple[float, float]:
        """Return the rate in bytes per second, and the burst in bytes."""
        config = self._config
        if not self._is_stranger():
            self._unknown_peers.leave(self)
            return config.peer_rate, config.peer_burst
        if alone:
            return config.stranger_rate, config.peer_burst
        part = self._unknown_peers.part_of(self, now)
        burst = min(config.peer_burst, max(MIN_BURST, part))
        return min(config.stranger_rate, part), burst


LARGE = 64 * 1024
"""Size of a frame above which a peer gets the next frame only after this one is sent."""
PATIENCE = 5.0
"""Seconds for which an unknown peer may stop reading while others need the space."""


class Receiver(Protocol):
    """A peer's outbox with bytes to send."""

    @property
    def is_stranger(self) -> bool:
        """Whether its bytes count against the limit for unknown peers."""

    @property
    def unsent(self) -> int:
        """Number of queued bytes."""

    @property
    def blocked_since(self) -> float | None:
        """When the peer stopped reading (the loop's time), None while it reads."""

    @property
    def end(self) -> Callable[[Exception], None]:
        """Function that closes the connection."""


class SendBufferLimit:
    """The limit on bytes queued for all unknown peers together.

    Unspecified: if the limit is reached, the peer that has not read for the longest time is closed after some
    seconds, so that peers that read get their answers.
    """

    def __init__(self, most: int, everybody: Callable[[], Iterable[Receiver]]) -> None:
        self._most = most
        self._everybody = everybody

    def has_room(self, receiver: Receiver, size: int, now: float) -> bool:
        """Return whether a frame of the given size may be sent to an unknown peer."""
        unsent = receiver.unsent
        if size <= LARGE and not unsent:
            return True
        if size > LARGE and unsent > LARGE:
            return False
        strangers = [item for item in self._everybody() if item.is_stranger]
        if sum(stranger.unsent for stranger in strangers) + size <= self._most:
            return True
        self._close_slowest(strangers, now)
        return False

    @staticmethod
    def _close_slowest(strangers: Iterable[Receiver], now: float) -> None:
        blocked = [
            (since, stranger)
            for stranger in strangers
            if (since := stranger.blocked_since) is not None
        ]
        since, slowest = min(blocked, key=lambda entry: entry[0], default=(now, None))
        if slowest is not None and now - since >= PATIENCE:
            slowest.end(TimedOut(PeerReason.NOTHING_TAKEN, seconds=PATIENCE))


class UnknownPeerLimits:
    """Both limits, created once for a network."""

    def __init__(self, config: NetworkConfig, everybody: Callable[[], Iterable[Receiver]]) -> None:
        self.unknown_peers = UnknownPeers(config)
        self.send_buffer = SendBufferLimit(config.strangers_send_queue, everybody)
