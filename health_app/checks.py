"""The six checks (specification 2), and how each one measures.

What is measured is judged by `rules`. A check may wait for the database or the cache, so it runs in
a thread; what it raises is told by `reporter`.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

from cchain_app.chain import EvmChain
from cchain_app.selectors import development, figures
from cchain_app.selectors import figures as cchain
from chaindb import clock
from chaindb.chains import MISSING_VOTES, Chain
from health_app import rules
from health_app.result import Finding
from health_app.rules import Limits, Outstanding, Standstill, Traffic
from health_app.writing import Writes
from network_app import selectors as network
from network_app.consensus.report import ConsensusReport
from network_app.selectors import HEARTBEAT_TOLERANCE
from network_app.selectors.network import is_fresh
from platform_app.chain import PlatformChain
from platform_app.selectors import mempool as platform
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID, NodeID

APPLICATION: Final = "application"
"""The tag of checks that are about the node as a whole: they are part of every answer."""
ALL: Final = "all"
"""The tag that all checks have."""

_PRIMARY_NETWORK: Final = frozenset({str(PRIMARY_NETWORK_ID)})


class Check(NamedTuple):
    """One row of the table."""

    name: str
    measure: Callable[[], Finding]
    tags: frozenset[str]
    """Besides `ALL`."""


TAGS: Final[Mapping[str, frozenset[str]]] = {
    "C": _PRIMARY_NETWORK,
    "P": _PRIMARY_NETWORK,
    "X": _PRIMARY_NETWORK,
    "bootstrapped": frozenset({APPLICATION}),
    "network": frozenset({APPLICATION}),
    "router": frozenset({APPLICATION}),
}
"""Of each check by its name, besides `ALL`."""

READINESS: Final = frozenset({"bootstrapped"})
"""The checks that must have passed once before the node is ready."""


class Settings(Protocol):
    """What is looked at of the node's settings; see `NodeSettings` for what each one means."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Addresses of the nodes that are followed."""

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains that this node takes part in."""

    @property
    def producer(self) -> str:
        """Who makes all blocks, if that is named."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def mining(self) -> str:
        """When blocks of the C-Chain are made."""

    @property
    def block_interval(self) -> float:
        """Seconds between them where they are made by the clock."""

    @property
    def network(self) -> bool:
        """Whether this node talks to others."""

    @property
    def snow_max_processing(self) -> int:
        """So many blocks may be processing where the validators vote."""

    @property
    def snow_max_time_processing(self) -> float:
        """For so many seconds."""


@dataclass(frozen=True, slots=True)
class Checks:
    """How the checks of a process measure."""

    node: Settings
    evm: EvmChain
    platform: PlatformChain
    producer: Callable[[], NodeID | None]
    """Returns who makes all blocks of the network; None: nobody is named, or the validators vote."""
    router: Callable[[], tuple[int, float]]
    """Returns how many calls of the whole node are not answered, and the seconds for which the oldest one runs."""
    writes: Writes
    """What the writes of this process have come to."""
    began: float = field(default_factory=time.time)
    """When this process began to look, Unix seconds: what was silent before may just not have begun either."""
    heard: threading.Event = field(default_factory=threading.Event, init=False, compare=False)
    """Set once the network's process has reported since then: a clock that is set back later says nothing of that."""

    def table(self) -> tuple[Check, ...]:
        """Return the checks."""
        measures: Mapping[str, Callable[[], Finding]] = {
            "C": self.measure_c_chain,
            "P": self.measure_p_chain,
            "X": measure_x_chain,
            "bootstrapped": self.measure_bootstrapped,
            "network": self.measure_network,
            "router": lambda: rules.router(Outstanding(*self.router())),
        }
        return tuple(Check(name, measures[name], tags) for name, tags in TAGS.items())

    def measure_c_chain(self) -> Finding:
        """Look at the blocks that the C-Chain makes or accepts, and why the database takes none."""
        if Chain.C not in self.node.chains:
            return rules.absent(Chain.C.absence, self._missing_votes())
        return rules.c_chain(
            self._outstanding(Chain.C),
            self.writes.refusal(),
            self._obstacle(Chain.C),
            self._standstill(Chain.C),
            limits=self._limits(),
        )

    def measure_p_chain(self) -> Finding:
        """Look at the P-Chain as at the C-Chain, and at the stake that is connected.

        Where the validators vote it is the stake that polls hear: of those who are connected and answer. How
        much of it is enough follows from the quorum (snowman.md 1).
        """
        voting = self._voting(Chain.P)
        stake = self._connected_stake() if voting is None else voting.stake.connected
        limits = self._limits()
        if voting is not None:
            limits = limits._replace(stake=voting.parameters.min_connected_to_be_healthy)
        return rules.p_chain(
            self._outstanding(Chain.P),
            stake,
            self.writes.refusal(),
            self._obstacle(Chain.P),
            self._standstill(Chain.P),
            in_network=network.in_network(),
            limits=limits,
        )

    def measure_bootstrapped(self) -> Finding:
        """Look whether all chains that this node takes part in have finished their initial sync."""
        if (self.node.bootstrap or self.node.votes) and self._reported() is None:
            return rules.bootstrapped({"P": False})
        done = {str(chain): network.is_bootstrapped(chain) for chain in self.node.chains}
        waiting = "" if all(done.values()) else network.waiting()
        return rules.bootstrapped(done, waiting)

    def measure_network(self) -> Finding:
        """Look at what the network's process reports."""
        reported, now = self._reported(), datetime.now(UTC)
        if reported is None:
            silent = self._too_long(now.timestamp() - self.began)
            since = now.timestamp() - self.began
            traffic = Traffic(
                0, 0.0, since, since, has_sent=False, has_received=False, silent=silent
            )
            return rules.network(traffic, in_network=network.in_network())
        traffic = Traffic(
            connected=reported.connected if is_fresh(reported) else 0,
            send_fail_rate=reported.send_fail_rate,
            since_sent=_age(reported.last_sent_at or reported.started_at, now),
            since_received=_age(reported.last_received_at or reported.started_at, now),
            has_sent=reported.last_sent_at is not None,
            has_received=reported.last_received_at is not None,
            silent=self._too_long(_age(reported.heartbeat_at, now)),
            failures=tuple(map(str, network.dial_failures(reported))),
        )
        return rules.network(traffic, in_network=network.in_network())

    def _missing_votes(self) -> str:
        """Return a warning if this node's stake counts on a chain that it does not vote on; empty otherwise."""
        if not self.node.votes:
            return ""
        validators = stakers.current_validators(self.platform).by_node
        return MISSING_VOTES if self.platform.node_id in validators else ""

    def _outstanding(self, chain: Chain) -> Outstanding:
        """Return the blocks that this node makes or should make, and undecided ones that peers made."""
        here = self._being_made(chain)
        count, longest = len(here), max((seconds for _, seconds in here), default=0.0)
        overdue = self._overdue(chain)
        if overdue is not None:  # the one that is being made, where one is
            count, longest = max(count, 1), max(longest, overdue)
        row = self._reported_sync(chain)
        if row is None:
            return Outstanding(count, longest)
        if row.oldest_outstanding_at is not None:
            longest = max(longest, _age(row.oldest_outstanding_at, datetime.now(UTC)))
        return Outstanding(count + row.outstanding, longest)

    def _limits(self) -> Limits:
        """Return the limits of undecided blocks, which settings give where the validators vote."""
        node = self.node
        return (
            Limits(node.snow_max_processing, node.snow_max_time_processing)
            if node.votes
            else Limits()
        )

    def _being_made(self, chain: Chain) -> list[tuple[int, float]]:
        """Return height and age in seconds of the blocks that this node's processes are at.

        A process that was killed leaves an entry behind, and others go on: what the chain has is made.
        """
        of_node = self.platform if chain is Chain.P else self.evm
        here = of_node.building.outstanding()  # first: what is committed meanwhile was being made
        if not here:
            return []
        if chain is Chain.P:
            height = self.platform.tip().height
        else:
            head = figures.head(self.evm)
            height = -1 if head is None else head.number
        return [(number, seconds) for number, seconds in here if number > height]

    def _standstill(self, chain: Chain) -> Standstill | None:
        """Return the block that others should make, where this node follows and knows what waits for it.

        By interval a transaction may wait for as long as that lasts, too; blocks that are made by hand are
        never due. Where the validators vote it is this node's fault as much as theirs.
        """
        node, now = self.node, clock.now()
        if not (node.bootstrap or node.producer or node.votes):
            return None  # it makes all blocks itself, and that costs no query
        if not network.is_bootstrapped(chain):
            return None
        maker = self.producer()
        if maker == self.platform.node_id:
            return None
        found: platform.Due | cchain.Due | None = None
        patience = 0.0
        if chain is Chain.P:
            found = platform.due(self.platform, now)
        elif node.mining != "manual":
            found = cchain.due(self.evm, now)
            patience = node.block_interval if node.mining == "interval" else 0.0
        if found is None:
            return None
        seconds = min(now - found.since, time.time() - self.began) - patience
        if maker is None:
            return Standstill(found.transactions, seconds, "", connected=False)
        connected = maker in network.connected_ids()
        return Standstill(found.transactions, seconds, str(maker), connected=connected)

    def _overdue(self, chain: Chain) -> float | None:
        """Return for how many seconds a block has been due that this node may make.

        What was due before this process began to look counts from then: the others have just begun too.
        """
        now = clock.now()
        if chain is Chain.P:
            found: platform.Due | cchain.Due | None = platform.due(self.platform, now)
        else:
            found = cchain.due(self.evm, now) if development.mining(self.evm) == "auto" else None
        deciding = self.platform.consensus if chain is Chain.P else self.evm.consensus
        if found is None or not deciding.may_produce(found.height, now):
            return None
        return max(0.0, min(now - found.since, time.time() - self.began))

    def _voting(self, chain: Chain) -> ConsensusReport | None:
        """Return how this node takes part in the voting on a chain; None where it does not, or nobody votes."""
        return self._deciding(chain) if self.node.votes else None

    def _deciding(self, chain: Chain) -> ConsensusReport | None:
        """Return how a chain is being decided on: by votes, or by the one node that this one follows."""
        node = self.node
        if not (node.votes or node.bootstrap or node.producer):
            return None  # this node decides alone, and that costs no query
        if self._reported() is None:
            return None
        report = network.consensus_now(chain)
        return report if report is not None and report.is_running else None

    def _obstacle(self, chain: Chain) -> str:
        """Return what keeps a chain from going on, in words; empty where nothing does."""
        row, deciding = self._reported_sync(chain), self._deciding(chain)
        words = [
            None if row is None else row.obstacle,
            None if deciding is None else deciding.obstacle,
        ]
        return ", ".join(filter(None, words))

    def _connected_stake(self) -> float:
        """Return the part of the stake that is connected, this node's own included."""
        connected = () if self._reported() is None else network.peers()
        return network.connected_stake(connected).fraction

    def _reported_sync(self, chain: Chain) -> Any:
        """Return what the network's process says of a chain; None when there is nobody to say it."""
        reported = self._reported()
        if reported is None or not is_fresh(reported):
            return None
        return network.syncs().get(chain)

    def _reported(self) -> network.Status | None:
        """Return what the network's process has reported since this one began; None where it has not yet.

        Rows say for a while what was so before a restart: peers that nobody is connected to any more, and
        chains that may have to be synced again. A check that believed them would pass first and fail then.
        Unspecified: nor is a process of the network believed that went on while this one began anew, until it
        reports again: within a second, or five where nobody is connected.
        """
        reported = network.status()
        if reported is not None and reported.heartbeat_at.timestamp() >= self.began:
            self.heard.set()
        return reported if self.heard.is_set() else None

    def _too_long(self, silence: float) -> float | None:
        """Return a silence of the network's process, if there is one and it lasts too long; a fork has none."""
        expected = self.node.network and self.evm.fork is None
        return silence if expected and silence > HEARTBEAT_TOLERANCE else None


def measure_x_chain() -> Finding:
    """Look at what the X-Chain has not decided.

    Unspecified: of the X-Chain this node has its genesis only. Nothing can be issued on it, so there
    are no tables of its own, and what waits for a decision is an empty collection.
    """
    undecided: Collection[object] = ()
    return rules.x_chain(vertices=undecided, transactions=undecided)


def _age(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds())
