"""What all strangers share: how fast they are read, and the bytes that wait to be sent to them.

A stranger is a peer that neither validates nor was dialled by this node. However many there are,
the others are served as if there were few.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from network_app.config import NetworkConfig
from network_app.peers.errors import NothingTaken
from network_app.peers.pace import Crowd

LARGE = 64 * 1024
"""Bytes of a frame above which a peer gets the next one only once this one is sent."""
PATIENCE = 5.0
"""Seconds for which a stranger may take nothing while others need the room."""


class Receiver(Protocol):
    """A peer's outbox, whose bytes wait to be sent."""

    @property
    def is_stranger(self) -> bool:
        """Whether they count here."""

    @property
    def unsent(self) -> int:
        """How many they are."""

    @property
    def blocked_since(self) -> float | None:
        """Since when the peer takes nothing (the loop's time), None while it does."""

    @property
    def end(self) -> Callable[[Exception], None]:
        """Closes the connection."""


class SendRoom:
    """The bytes that wait for all strangers together.

    Unspecified: who has taken nothing for some seconds while the room is full is closed, so that
    those who read get their answers.
    """

    def __init__(self, most: int, everybody: Callable[[], Iterable[Receiver]]) -> None:
        self._most = most
        self._everybody = everybody

    def has_room(self, receiver: Receiver, size: int, now: float) -> bool:
        """Say whether a stranger may be sent a frame of so many bytes."""
        unsent = receiver.unsent
        if size <= LARGE and not unsent:
            return True
        if size > LARGE and unsent > LARGE:
            return False
        strangers = [one for one in self._everybody() if one.is_stranger]
        if sum(one.unsent for one in strangers) + size <= self._most:
            return True
        self._close_slowest(strangers, now)
        return False

    @staticmethod
    def _close_slowest(strangers: Iterable[Receiver], now: float) -> None:
        blocked = [(since, one) for one in strangers if (since := one.blocked_since) is not None]
        since, slowest = min(blocked, key=lambda entry: entry[0], default=(now, None))
        if slowest is not None and now - since >= PATIENCE:
            slowest.end(NothingTaken(PATIENCE))


class Strangers:
    """Both, made once for a network."""

    def __init__(self, config: NetworkConfig, everybody: Callable[[], Iterable[Receiver]]) -> None:
        self.crowd = Crowd(config)
        self.room = SendRoom(config.strangers_send_queue, everybody)
