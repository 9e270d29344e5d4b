"""Limits on the connections of a process, in total and per address, and how a full process accepts new ones.

For a connection beyond the limit, the oldest idle one is closed; if all are busy, the new one is refused. Everything
here runs in the event loop's thread.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, client_key, is_proxy
from jsonrpc.limits.throttle import RecurringWarning

MAX_LOOKED_AT: Final = 32
"""Connections that are checked for being idle before a new one is refused."""

_LIMIT_ACTION: Final = (
    "the oldest idle connection is closed for a new one, or the new one is refused"
)

_log: Final = logging.getLogger("jsonrpc")


class CountedConnection(Protocol):
    """A counted connection."""

    def is_idle(self) -> bool:
        """Return whether closing it loses nothing, because it has no request in progress."""

    def make_room(self) -> None:
        """Close now."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Maximal number of connections of a process, and of one address."""

    maximum: int = 16_384
    of_address: int = 12_288


class Connections:
    """The connections of one process. A trusted proxy has no limit of its own, because it serves many clients."""

    def __init__(
        self,
        limits: ConnectionLimits = ConnectionLimits(),
        clock: Callable[[], float] = time.monotonic,
        proxies: TrustedProxies = NO_PROXIES,
    ) -> None:
        self.limits = limits
        self._proxies = proxies
        self._keys: dict[CountedConnection, str] = {}
        """All connections, oldest first."""
        self._of: dict[str, dict[CountedConnection, None]] = {}
        """The connections of each address, oldest first. Unix sockets, which have no address, are not counted,
        nor are trusted proxies."""
        self._flood = RecurringWarning(_log, clock)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, peer: str) -> int:
        """Return the number of connections of an address, for IPv6 of its /64."""
        return len(self._of.get(client_key(peer, b"", NO_PROXIES), ()))

    def enter(self, connection: CountedConnection, peer: str) -> bool:
        """Count a new connection; return False if there is no place and no idle connection to close."""
        counted = peer and not is_proxy(peer, self._proxies)
        key = client_key(peer, b"", NO_PROXIES) if counted else ""
        own = self._of.get(key, {})
        if key and len(own) >= self.limits.of_address:
            self._flood.log(
                "%s has reached the limit of %d connections for one address: %s",
                key,
                len(own),
                _LIMIT_ACTION,
            )
            if not self._make_room(own):
                return False
        elif len(self._keys) >= self.limits.maximum:
            self._flood.log(
                "the limit of %d connections is reached: %s",
                len(self._keys),
                _LIMIT_ACTION,
            )
            if not self._make_room(self._keys):
                return False
        self._keys[connection] = key
        self._of.setdefault(key, own)[connection] = None
        return True

    def replace(self, old: CountedConnection, new: CountedConnection) -> None:
        """Replace the object of a connection, after a change of its protocol."""
        key = self._keys.get(old)
        if key is not None:
            self.leave(old)
            self._keys[new] = key
            self._of.setdefault(key, {})[new] = None

    def leave(self, connection: CountedConnection) -> None:
        """Note that a connection has ended. Can be called twice."""
        key = self._keys.pop(connection, None)
        if key is None:
            return
        own = self._of[key]
        del own[connection]
        if not own:
            del self._of[key]

    def _make_room(
        self, candidates: dict[CountedConnection, None] | dict[CountedConnection, str]
    ) -> bool:
        """Close the oldest idle connection among those checked; move the others to the end."""
        for connection in tuple(islice(candidates, MAX_LOOKED_AT)):
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
