"""The ID of this node, and the state of validators' nodes: uptime, and whether they are connected.

All nodes count as online until the first peer ever connects, as for rewards (pchain.md 7.5).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from chaindb import clock
from platform_app.chain import PlatformChain
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import stakers
from platform_app.store.uptime import Uptime
from primitives.ids import NodeID


def own_node_id(chain: PlatformChain) -> NodeID | None:
    """Return this node's ID; None before its first start has created the certificate."""
    try:
        return chain.node_id
    except OSError:
        return None


SECONDS: Final = 1.0
"""Seconds for which the uptimes of all validators are cached, because reading them is the slowest part."""


class Presence(NamedTuple):
    """The uptime and connection of one node."""

    uptime: float
    """The fraction of its time that it was online, 0 to 1."""
    connected: bool


class UptimeView(NamedTuple):
    """The uptime rows of validators' nodes."""

    uptimes: Mapping[NodeID, Uptime]
    tracking: bool


class Presences:
    """The current state of nodes."""

    def __init__(self, chain: PlatformChain, seen: UptimeView) -> None:
        self._now = clock.now()
        self._own = own_node_id(chain)
        self._seen = seen

    def of(self, node_id: NodeID) -> Presence:
        """Return the state of a node. This node counts as connected."""
        seen = self._seen.uptimes.get(node_id)
        if seen is None:
            return Presence(1.0, connected=node_id == self._own)
        connected = seen.connected_since is not None or node_id == self._own
        return Presence(seen.fraction(self._now, tracking=self._seen.tracking), connected)


class _CachedUptimes(NamedTuple):
    """Cached uptimes, the validators they belong to, and when they were read."""

    present: CurrentSet
    moment: float
    seen: UptimeView


class PresenceMemory:
    """Uptimes of all validators of the Primary Network, read at most once a second.

    `elapsed` returns seconds of the process's own clock, not of the node's clock.
    """

    def __init__(self, chain: PlatformChain, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._chain = chain
        self._elapsed = elapsed
        self._last: _CachedUptimes | None = None

    def of_all(self, present: CurrentSet) -> Presences:
        """Return the state of the current validators."""
        last, moment = self._last, self._elapsed()
        if last is None or last.present is not present or moment - last.moment >= SECONDS:
            last = self._last = _CachedUptimes(
                present,
                moment,
                UptimeView(stakers.uptimes(self._chain), stakers.tracking(self._chain)),
            )
        return Presences(self._chain, last.seen)


def of_nodes(chain: PlatformChain, node_ids: Iterable[NodeID]) -> Presences:
    """Return the state of these nodes, read now."""
    return Presences(
        chain, UptimeView(stakers.uptimes(chain, list(node_ids)), stakers.tracking(chain))
    )


def connected_nodes(chain: PlatformChain) -> frozenset[NodeID]:
    """Return the nodes that are connected to this one, validators or not."""
    own = own_node_id(chain)
    return stakers.connected_nodes(chain) | (frozenset() if own is None else {own})
