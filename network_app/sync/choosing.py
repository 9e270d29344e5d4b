"""Whom to ask: connected peers that answer, those that validate and those that were honest first."""

import logging
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

from network_app.peers.bench import Bench
from network_app.ports import Directory, PeerNetwork
from primitives.ids import NodeID

DISTRUST = 600.0
"""Seconds for which a peer that was dropped is only asked when there is no other."""
MOST_DISTRUSTED = 1024

_log = logging.getLogger(__name__)


class Choice:
    """The connected peers by what is known of them, for both chains."""

    def __init__(
        self,
        network: PeerNetwork,
        directory: Directory,
        bench: Bench,
        *,
        beacons: Callable[[], Collection[NodeID]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._directory = directory
        self._bench = bench
        self._beacons = beacons
        self._clock = clock
        self._distrusted: OrderedDict[NodeID, float] = OrderedDict()
        self._chance = random.Random()  # noqa: S311 spreads load, guards nothing

    @property
    def own(self) -> NodeID:
        """This node."""
        return self._network.node_id

    def connected(self) -> Collection[NodeID]:
        """Return all connected peers."""
        return self._network.connected().keys()

    def validators(self) -> list[NodeID]:
        """Return the connected peers that validate, those with more stake first."""
        known = self._directory.validators()
        found = [node_id for node_id in self._network.connected() if node_id in known]
        return sorted(found, key=lambda node_id: (-known[node_id].weight, node_id))

    def validates(self, node_id: NodeID) -> bool:
        """Say whether a node validates."""
        return node_id in self._directory.validators()

    def stake(self, nodes: Collection[NodeID]) -> int:
        """Return what those of some nodes that validate have at stake together."""
        known = self._directory.validators()
        return sum(known[node_id].weight for node_id in nodes if node_id in known)

    def in_order(self, alias: str, among: Collection[NodeID]) -> list[NodeID]:
        """Return the connected ones of some peers in a random order, the doubtful ones at the end."""
        connected = self._network.connected()
        found = [node_id for node_id in among if node_id in connected]
        self._chance.shuffle(found)
        return sorted(found, key=lambda node_id: self._doubts(node_id, alias))

    def someone(self, alias: str, besides: Collection[NodeID] = ()) -> NodeID | None:
        """Return a peer to ask about a chain: a random validator, or else one of those to bootstrap from.

        Where there is none of both it is anybody.

        Unspecified: a peer that is benched is asked when all others are.
        """
        for among in (self.validators(), self._beacons(), self.connected()):
            found = self.in_order(alias, [one for one in among if one not in besides])
            if found and not self._doubts(found[0], alias):
                return found[0]
        found = self.in_order(alias, [one for one in self.connected() if one not in besides])
        return found[0] if found else None

    def sample(self, among: Collection[NodeID], count: int) -> list[NodeID]:
        """Return some at random."""
        return self._chance.sample(sorted(among), min(count, len(among)))

    def drop(self, node_id: NodeID, reason: str) -> None:
        """Disconnect a peer that broke a rule, and doubt it for a while."""
        _log.warning("dropped %s: it %s", node_id, reason)
        self._distrusted.pop(node_id, None)
        self._distrusted[node_id] = self._clock() + DISTRUST
        if len(self._distrusted) > MOST_DISTRUSTED:
            self._distrusted.popitem(last=False)
        self._network.disconnect(node_id, reason)

    def _doubts(self, node_id: NodeID, alias: str) -> int:
        """Return 0 when there is nothing against a peer, more the worse it is."""
        now = self._clock()
        until = self._distrusted.get(node_id)
        if until is not None and until <= now:
            del self._distrusted[node_id]
            until = None
        return 2 * (until is not None) + self._bench.is_benched(node_id, alias, now)
