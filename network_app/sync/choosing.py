"""Whom to ask: connected peers that answer, those that validate and those that were honest first."""

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping

from network_app.peers.bench import Bench
from network_app.ports import Directory, PeerNetwork
from network_app.sync.aside import Aside
from primitives.ids import NodeID

_log = logging.getLogger(__name__)


class Choice:
    """The connected peers by what is known of them, for all chains."""

    def __init__(
        self,
        network: PeerNetwork,
        directory: Directory,
        bench: Bench,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._directory = directory
        self._bench = bench
        self._clock = clock
        self.aside = Aside(clock)
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

    def weights(self) -> Mapping[NodeID, int]:
        """Return what all other validators have at stake, connected or not."""
        known = self._directory.validators()
        return {one: facts.weight for one, facts in known.items() if one != self.own}

    def in_order(self, alias: str, among: Collection[NodeID]) -> list[NodeID]:
        """Return the connected ones of some peers in a random order, the benched ones at the end.

        Those that are set aside for this chain are not among them.
        """
        connected = self._network.connected()
        found = [one for one in among if one in connected and not self.aside.has(one, alias)]
        self._chance.shuffle(found)
        return sorted(found, key=lambda node_id: self._is_benched(node_id, alias))

    def sample(self, among: Collection[NodeID], count: int) -> list[NodeID]:
        """Return some at random."""
        return self._chance.sample(sorted(among), min(count, len(among)))

    def set_aside(self, node_id: NodeID, alias: str, reason: str) -> None:
        """Ask a peer no more about a chain for a while, since what it said of that cannot be."""
        seconds = self.aside.put(node_id, alias, reason)
        if seconds is not None:
            _log.warning(
                "%s is not asked about the %s-Chain for %g s: it %s",
                node_id,
                alias,
                seconds,
                reason,
            )

    def _is_benched(self, node_id: NodeID, alias: str) -> bool:
        return self._bench.is_benched(node_id, alias, self._clock())
