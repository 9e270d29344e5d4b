"""Limits shared by all unknown peers: their read rate, and the bytes queued for sending to them.

An unknown peer ("stranger") neither validates nor was dialled by this node. However many there are, the
known peers are served as if there were few.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from network_app.config import NetworkConfig
from network_app.peers.errors import PeerReason, TimedOut
from network_app.peers.read_throttle import UnknownPeers

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
        self.crowd = UnknownPeers(config)
        self.room = SendBufferLimit(config.strangers_send_queue, everybody)
