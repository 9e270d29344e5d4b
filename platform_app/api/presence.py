"""What is known of validators' nodes at the moment of a call: uptime, and whether they are connected.

Nobody counts as offline until the first peer ever comes, as in rewards (pchain.md 7.5).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from chaindb import clock
from platform_app.api.own_node import own_node_id
from platform_app.chain import PlatformChain
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import stakers
from platform_app.store.uptime import Uptime
from primitives.ids import NodeID

SECONDS: Final = 1.0
"""So long the uptimes of all validators are shown as they were read: that takes longest of all."""


class Presence(NamedTuple):
    """What is known of one node."""

    uptime: float
    """Part of its time that it was online, 0 to 1."""
    connected: bool


class Seen(NamedTuple):
    """What rows say of validators' nodes."""

    uptimes: Mapping[NodeID, Uptime]
    tracking: bool


class Presences:
    """What is known of nodes now."""

    def __init__(self, chain: PlatformChain, seen: Seen) -> None:
        self._now = clock.now()
        self._own = own_node_id(chain)
        self._seen = seen

    def of(self, node_id: NodeID) -> Presence:
        """Return what is known of a node. This node sees itself."""
        seen = self._seen.uptimes.get(node_id)
        if seen is None:
            return Presence(1.0, connected=node_id == self._own)
        connected = seen.connected_since is not None or node_id == self._own
        return Presence(seen.fraction(self._now, tracking=self._seen.tracking), connected)


class _Read(NamedTuple):
    """Uptimes, of whom, and when they were read."""

    present: CurrentSet
    moment: float
    seen: Seen


class PresenceMemory:
    """Uptimes of all validators of the Primary Network, read once a second at most.

    `elapsed` counts seconds; it is the process's own clock, not the node's.
    """

    def __init__(self, chain: PlatformChain, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._chain = chain
        self._elapsed = elapsed
        self._last: _Read | None = None

    def of_all(self, present: CurrentSet) -> Presences:
        """Return what is known of the present validators."""
        last, moment = self._last, self._elapsed()
        if last is None or last.present is not present or moment - last.moment >= SECONDS:
            last = self._last = _Read(
                present,
                moment,
                Seen(stakers.uptimes(self._chain), stakers.tracking(self._chain)),
            )
        return Presences(self._chain, last.seen)


def of_nodes(chain: PlatformChain, node_ids: Iterable[NodeID]) -> Presences:
    """Return what is known of these nodes, as of this moment."""
    return Presences(chain, Seen(stakers.uptimes(chain, list(node_ids)), stakers.tracking(chain)))


def connected_nodes(chain: PlatformChain) -> frozenset[NodeID]:
    """Return which nodes are connected, validators or not, with this one."""
    own = own_node_id(chain)
    return stakers.connected_nodes(chain) | (frozenset() if own is None else {own})
