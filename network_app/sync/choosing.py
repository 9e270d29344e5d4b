"""Whom to ask: connected peers that answer, those that validate and those that were honest first.

Peers that answer one chain's questions badly are not asked about that chain for a while. The connection stays, and so
does every other chain: who follows a C-Chain of another kind may be the best source for the P-Chain there is. Only who
breaks the rules of the connection itself is cut off (`peers`).
"""

import logging
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from network_app.log_limit import LogLimit
from network_app.peers.bench import Bench
from network_app.ports import Directory, PeerNetwork
from primitives.ids import NodeID

FIRST = 10.0
"""Seconds for which a peer is set aside the first time; twice as long with each further fault."""
LONGEST = 600.0
REMEMBERED = 3600.0
"""Seconds without a further fault after which the next one is the first again."""
MOST = 4096
"""Peers and chains that are remembered; those whose latest fault is the oldest are forgotten."""


class Fault(NamedTuple):
    """What a peer did wrong on a chain last, and until when it is not asked there."""

    reason: str
    times: int
    until: float


class Aside:
    """Who is set aside on which chain. Unspecified: the reference goes on asking at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._faults: OrderedDict[tuple[NodeID, str], Fault] = OrderedDict()

    def put(self, node_id: NodeID, alias: str, reason: str) -> float | None:
        """Set a peer aside; return for how many seconds, or None if it is already."""
        key, now = (node_id, alias), self._clock()
        before = self._faults.get(key)
        if before is not None and now < before.until:
            return None
        is_first = before is None or now - before.until > REMEMBERED
        times = 1 if is_first or before is None else before.times + 1
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 16))
        self._faults[key] = Fault(reason, times, now + seconds)
        self._faults.move_to_end(key)
        if len(self._faults) > MOST:
            self._faults.popitem(last=False)
        return seconds

    def has(self, node_id: NodeID, alias: str) -> bool:
        """Say whether a peer is not to be asked about a chain now."""
        fault = self._faults.get((node_id, alias))
        return fault is not None and self._clock() < fault.until

    def forget(self, node_id: NodeID) -> None:
        """Forget what a peer said that cannot be, on all chains."""
        for key in [one for one in self._faults if one[0] == node_id]:
            del self._faults[key]

    def now(self) -> dict[tuple[NodeID, str], str]:
        """Return why peers are set aside at the moment, by peer and chain."""
        now = self._clock()
        return {key: fault.reason for key, fault in self._faults.items() if now < fault.until}


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
        """Stop asking a peer about a chain for a while, because of an answer that cannot be right.

        Args:
            node_id: The peer.
            alias: "P" or "C".
            reason: Its fault, as a predicate: "sent bytes that are no block".
        """
        seconds = self.aside.put(node_id, alias, reason)
        if seconds is not None and self._log_limit.allows((node_id, alias)):
            _log.warning(
                "%s %s: it is not asked about the %s-Chain for %g s",
                node_id,
                reason,
                alias,
                seconds,
            )

    def _is_benched(self, node_id: NodeID, alias: str) -> bool:
        return self._bench.is_benched(node_id, alias, self._clock())
