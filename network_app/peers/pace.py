"""How fast one peer is read (p2p.md 7): as one that is known, or as a stranger among all others."""

from collections.abc import Callable

from network_app.config import NetworkConfig
from network_app.peers.throttle import TokenBucket


class Pace:
    """A rate of the peer's own, and for a stranger a share of what all strangers have.

    Args:
        config: The rates.
        strangers: The rate of all strangers together.
        is_stranger: Whether the peer is one now.
        now: Seconds of the clock by which all times here go.
    """

    def __init__(
        self,
        config: NetworkConfig,
        strangers: TokenBucket,
        is_stranger: Callable[[], bool],
        now: float,
    ) -> None:
        self._config = config
        self._own = TokenBucket(config.stranger_rate, config.peer_burst, now)
        self._strangers = strangers
        self._is_stranger = is_stranger

    def take(self, cost: float, now: float, *, alone: bool = False) -> float:
        """Take from what may be read; return the seconds to wait until it is paid.

        `alone` leaves the other strangers out: so nobody's handshake waits for their messages.
        """
        stranger = self._is_stranger()
        rate = self._config.stranger_rate if stranger else self._config.peer_rate
        self._own.change_rate(rate, now)
        wait = self._own.take(cost, now)
        if stranger and not alone:
            wait = max(wait, self._strangers.take(cost, now))
        return wait

    def expect(self, size: int) -> None:
        """Make room for what the peer was asked for."""
        self._own.give(size)
        if self._is_stranger():
            self._strangers.give(size)
