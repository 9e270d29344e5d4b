"""How many connections a process holds, in all and from one address, and who makes room when it is full.

A connection too many costs the oldest that waits for nothing; only where all are busy the new one is
refused. Whoever holds connections belongs to the event loop's thread.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, client_key, is_proxy
from jsonrpc.limits.recurring import RecurringWarning

MOST_LOOKED_AT: Final = 32
"""Connections that are asked whether they are idle before a new one is refused."""

_MAKES_ROOM: Final = "for a new one the oldest idle one is closed, or it is refused"

_log: Final = logging.getLogger("jsonrpc")


class Held(Protocol):
    """A connection as it is counted."""

    def is_idle(self) -> bool:
        """Whether nothing is lost when it is closed: it has no request on its way."""

    def make_room(self) -> None:
        """Close now."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Connections of a process, and how many of them one address may have."""

    most: int = 16_384
    of_address: int = 12_288


class Connections:
    """The connections of one process. A proxy that is trusted has no limit of its own: it brings many."""

    def __init__(
        self,
        limits: ConnectionLimits = ConnectionLimits(),
        clock: Callable[[], float] = time.monotonic,
        proxies: TrustedProxies = NO_PROXIES,
    ) -> None:
        self.limits = limits
        self._proxies = proxies
        self._keys: dict[Held, str] = {}
        """All of them, oldest first."""
        self._of: dict[str, dict[Held, None]] = {}
        """Those of each address likewise. Text that is no address (a Unix socket) is not counted,
        nor is a trusted proxy."""
        self._flood = RecurringWarning(_log, clock)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, peer: str) -> int:
        """Return how many an address has; of IPv6 its /64."""
        return len(self._of.get(client_key(peer, b"", NO_PROXIES), ()))

    def enter(self, connection: Held, peer: str) -> bool:
        """Count a new connection; False where there is no room and nobody to make it."""
        counted = peer and not is_proxy(peer, self._proxies)
        key = client_key(peer, b"", NO_PROXIES) if counted else ""
        own = self._of.get(key, {})
        if key and len(own) >= self.limits.of_address:
            self._flood.log(
                "%s has %d connections, the most that one address may have: %s",
                key,
                len(own),
                _MAKES_ROOM,
            )
            if not self._make_room(own):
                return False
        elif len(self._keys) >= self.limits.most:
            self._flood.log(
                "there are %d connections, the most that there may be: %s",
                len(self._keys),
                _MAKES_ROOM,
            )
            if not self._make_room(self._keys):
                return False
        self._keys[connection] = key
        self._of.setdefault(key, own)[connection] = None
        return True

    def replace(self, old: Held, new: Held) -> None:
        """Count another object for the same connection: it speaks another protocol now."""
        key = self._keys.get(old)
        if key is not None:
            self.leave(old)
            self._keys[new] = key
            self._of.setdefault(key, {})[new] = None

    def leave(self, connection: Held) -> None:
        """A connection has ended. It may do so twice."""
        key = self._keys.pop(connection, None)
        if key is None:
            return
        own = self._of[key]
        del own[connection]
        if not own:
            del self._of[key]

    def _make_room(self, candidates: dict[Held, None] | dict[Held, str]) -> bool:
        """Close the oldest idle one of those that are looked at; the others go to the end."""
        for connection in tuple(islice(candidates, MOST_LOOKED_AT)):
            if connection.is_idle():
                self.leave(connection)
                connection.make_room()
                return True
            key = self._keys.pop(connection)
            self._keys[connection] = key
            own = self._of[key]
            del own[connection]
            own[connection] = None
        return False
