"""Selects the peers to ask: connected peers that answer; validators and peers without faults come first.

A peer that gives bad answers about a chain is not asked about that chain for a while. The connection and all
other chains are not affected: a peer that follows another C-Chain may be the best source for the P-Chain.
A peer is disconnected only if it breaks the rules of the connection itself (`peers`).
"""

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from network_app.peers.bench import Bench
from network_app.peers.throttle import LogLimit
from network_app.ports import Directory, Network
from primitives.bounded_cache import BoundedCache
from primitives.ids import NodeID
from primitives.networks import title

FIRST = 10.0
"""Seconds for which a peer is set aside the first time; doubled with each further fault."""
LONGEST = 600.0
REMEMBERED = 3600.0
"""Seconds without a fault after which the next fault counts as the first one again."""
MOST = 4096
"""Number of peer and chain pairs that are remembered; the oldest faults are dropped first."""


class PeerFault(NamedTuple):
    """A peer's last fault on a chain, and the time until which it is not asked there."""

    reason: str
    times: int
    until: float


class Aside:
    """The peers set aside, by chain. Unspecified: the reference asks them again immediately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._faults: BoundedCache[tuple[NodeID, str], PeerFault] = BoundedCache(MOST)

    def put(self, node_id: NodeID, alias: str, reason: str) -> float | None:
        """Set a peer aside; return for how many seconds, or None if it already is."""
        key, now = (node_id, alias), self._clock()
        before = self._faults.peek(key)
        if before is not None and now < before.until:
            return None
        is_first = before is None or now - before.until > REMEMBERED
        times = 1 if is_first or before is None else before.times + 1
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 16))
        self._faults.put_newest(key, PeerFault(reason, times, now + seconds))
        return seconds

    def has(self, node_id: NodeID, alias: str) -> bool:
        """Return whether a peer is currently set aside for a chain."""
        fault = self._faults.peek((node_id, alias))
        return fault is not None and self._clock() < fault.until

    def forget(self, node_id: NodeID) -> None:
        """Forget a peer's faults on all chains."""
        for key in [fault for fault in self._faults if fault[0] == node_id]:
            self._faults.pop(key)

    def now(self) -> dict[tuple[NodeID, str], str]:
        """Return the reasons why peers are currently set aside, by peer and chain."""
        now = self._clock()
        return {key: fault.reason for key, fault in self._faults.items() if now < fault.until}


_log = logging.getLogger(__name__)


class PeerSelection:
    """Selects connected peers for all chains, by stake, bench and faults."""

    def __init__(
        self,
        network: Network,
        directory: Directory,
        bench: Bench,
        clock: Callable[[], float] = time.monotonic,
        *,
        aside: Aside | None = None,
    ) -> None:
        self._network = network
        self._directory = directory
        self._bench = bench
        self._clock = clock
        self.aside = aside or Aside(clock)
        self._log_limit = LogLimit(clock)
        self._chance = random.Random()  # noqa: S311 spreads load, guards nothing

    @property
    def own(self) -> NodeID:
        """This node."""
        return self._network.node_id

    def connected(self) -> Collection[NodeID]:
        """Return all connected peers."""
        return self._network.connected().keys()

    def validators(self) -> list[NodeID]:
        """Return the connected validators, those with more stake first."""
        known = self._directory.validators()
        found = [node_id for node_id in self._network.connected() if node_id in known]
        return sorted(found, key=lambda node_id: (-known[node_id].weight, node_id))

    def weights(self) -> Mapping[NodeID, int]:
        """Return the stakes of all other validators, connected or not."""
        known = self._directory.validators()
        return {node_id: facts.weight for node_id, facts in known.items() if node_id != self.own}

    def in_order(self, alias: str, among: Collection[NodeID]) -> list[NodeID]:
        """Return the connected peers among the given ones in random order, benched peers last.

        Peers that are set aside for this chain are left out.
        """
        connected = self._network.connected()
        found = [item for item in among if item in connected and not self.aside.has(item, alias)]
        self._chance.shuffle(found)
        return sorted(found, key=lambda node_id: self._is_benched(node_id, alias))

    def sample(self, among: Collection[NodeID], count: int) -> list[NodeID]:
        """Return up to `count` random peers."""
        return self._chance.sample(sorted(among), min(count, len(among)))

    def set_aside(self, node_id: NodeID, alias: str, reason: str) -> None:
        """Stop asking a peer about a chain for a while, because it gave an invalid answer.

        Args:
            node_id: The peer.
            alias: The chain's name.
            reason: Its fault, as a predicate: "sent bytes that are no block".
        """
        seconds = self.aside.put(node_id, alias, reason)
        if seconds is not None and self._log_limit.allows((node_id, alias)):
            _log.warning(
                "%s %s: it is not asked about the %s for %g s",
                node_id,
                reason,
                title(alias),
                seconds,
            )

    def _is_benched(self, node_id: NodeID, alias: str) -> bool:
        return self._bench.is_benched(node_id, alias, self._clock())
