"""The checks (specification 2): one for each chain and those of the node, and how each one measures.

The measured values are judged by `rules`. A check may wait for the database or the cache, so it runs in a thread;
`reporter` turns its exceptions into failures.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.selectors import development, figures
from cchain_app.selectors import figures as cchain
from cchain_app.selectors.obstacles import obstacle
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock
from chaindb.chains import MISSING_VOTES, P_CHAIN, absence, is_left_out
from chaindb.database import Database
from health_app import rules
from health_app.result import Finding
from health_app.rules import ConsensusLimits, NetworkTraffic, Outstanding, Standstill
from health_app.supply import SupplyWatch
from health_app.writing import Writes
from network_app import selectors as network
from network_app.consensus.report import ConsensusReport
from network_app.selectors import HEARTBEAT_TOLERANCE, is_fresh
from network_app.settings import NetworkSettings
from platform_app.chain import PlatformChain
from platform_app.selectors import mempool as platform
from platform_app.selectors import stakers
from platform_app.services.runtime import PlatformRuntime
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from primitives.settings import CommonSettings
from xchain_app.chain import AvmChain
from xchain_app.selectors import mempool as xchain
from xchain_app.services.runtime import AvmRuntime

APPLICATION: Final = "application"
"""The tag of checks of the node as a whole: they are part of every answer."""
ALL: Final = "all"
"""The tag that all checks have."""

REPLICAS: Final = "replicas"
"""The check of the database's read replicas. The specification does not have it."""
SUPPLY: Final = "supply"
"""The check that coins neither appear nor disappear. The specification does not have it."""

_PRIMARY_NETWORK: Final = frozenset({str(PRIMARY_NETWORK_ID)})


class HealthCheck(NamedTuple):
    """A check: its name, its measurement and its tags."""

    name: str
    measure: Callable[[], Finding]
    tags: frozenset[str]
    """The tags besides `ALL`."""


_NODE: Final = frozenset({APPLICATION})


def tags_of(
    further: Iterable[EvmChain] = (), *, counts_supply: bool = False, has_replicas: bool = False
) -> Mapping[str, frozenset[str]]:
    """Return the tags of each check by its name, besides `ALL`.

    Args:
        further: The chains besides those of the primary network; the tag of their checks is their subnet.
        counts_supply: Whether the node counts its coins from time to time.
        has_replicas: Whether its database has read replicas.
    """
    chains = {item.name: frozenset({str(item.subnet_id)}) for item in further}
    primary = dict.fromkeys(("C", "P", "X"), _PRIMARY_NETWORK)
    supply = {SUPPLY: _PRIMARY_NETWORK} if counts_supply else {}
    node = ("bootstrapped", "network", "router", *([REPLICAS] if has_replicas else ()))
    return primary | chains | dict.fromkeys(node, _NODE) | supply


TAGS: Final = tags_of(counts_supply=True)
"""The tags of all checks of a node with the chains of the primary network only."""


def measure_replicas(db: Database) -> Finding:
    """Ask each read replica of a database how far behind it is.

    Unspecified: the check passes if replicas are left out, because the node answers without them; they are named in its
    message.
    """
    assert db.replicas is not None
    db.replicas.check(db)
    return Finding(
        {
            state.address: {
                "behindBytes": state.behind,
                "reads": state.reads,
                "leftOut": state.reason,
            }
            for state in db.replicas.states()
        }
    )


AnyChain = PlatformChain | EvmChain | AvmChain
AnyRuntime = PlatformRuntime | EvmRuntime | AvmRuntime

DueBlock = platform.BuildableBlock | cchain.DueBlock | xchain.DueXBlock

READINESS: Final = frozenset({"bootstrapped"})
"""The checks that must have passed once before the node is ready."""


@dataclass(frozen=True, slots=True)
class Checks:
    """The measurements of a process's checks."""

    node: CommonSettings
    settings: NetworkSettings
    evms: Sequence[EvmRuntime]
    """The EVM chains, the C-Chain first."""
    platform_runtime: PlatformRuntime
    avm: AvmRuntime
    """The X-Chain."""
    producer: Callable[[], NodeID | None]
    """Returns the node that makes all blocks of the network; None if none is named or the validators vote."""
    router: Callable[[], tuple[int, float]]
    """Returns how many calls of the whole node are unanswered, and how many seconds the oldest one has been running."""
    writes: Writes
    """Write failures of this process."""
    supply: SupplyWatch | None = None
    """Counts the coins from time to time; None: they are counted by a command only."""
    began: float = field(default_factory=time.time)
    """When this process started, in Unix seconds: silence before then proves nothing, others may have just started too."""
    has_reported: threading.Event = field(
        default_factory=threading.Event, init=False, compare=False
    )
    """Set once the network process has reported since `began`; a clock that is set back later does not clear it."""

    @property
    def platform(self) -> PlatformChain:
        """The P-Chain."""
        return self.platform_runtime.chain

    @property
    def tags(self) -> Mapping[str, frozenset[str]]:
        """The tags of each check by its name, besides `ALL`."""
        return tags_of(
            self._further(),
            counts_supply=self.supply is not None,
            has_replicas=self.platform.db.replicas is not None,
        )

    def of_further(self, runtime: EvmRuntime) -> HealthCheck:
        """Return the check of a chain that the process begins to run; `evms` has it already."""
        chain = runtime.chain
        tags = frozenset({str(chain.subnet_id)})
        return HealthCheck(chain.name, partial(self.measure_evm, runtime), tags)

    def table(self) -> tuple[HealthCheck, ...]:
        """Return the checks."""
        measures: Mapping[str, Callable[[], Finding]] = {
            **{evm.chain.name: partial(self.measure_evm, evm) for evm in self.evms},
            "P": self.measure_p_chain,
            "X": self.measure_x_chain,
            "bootstrapped": self.measure_bootstrapped,
            "network": self.measure_network,
            "router": lambda: rules.router(Outstanding(*self.router())),
        }
        if self.supply is not None:
            measures = {**measures, SUPPLY: self.supply.measure}
        if self.platform.db.replicas is not None:
            measures = {**measures, REPLICAS: partial(measure_replicas, self.platform.db)}
        return tuple(HealthCheck(name, measures[name], tags) for name, tags in self.tags.items())

    def measure_evm(self, runtime: EvmRuntime) -> Finding:
        """Measure an EVM chain: blocks that are made or accepted, and whether the database rejects writes."""
        chain = runtime.chain
        if is_left_out(chain.name):
            return rules.absent(absence(chain.name), self._missing_votes())
        sync = self._reported_sync(chain)
        own = obstacle(chain, clock.now())
        return rules.evm_chain(
            self._outstanding(runtime, sync),
            self.writes.refusal(),
            self._obstacle(chain, sync) or ("" if own is None else own.reason),
            self._standstill(chain),
            limits=self._limits(),
        )

    def measure_p_chain(self) -> Finding:
        """Measure the P-Chain like an EVM chain, and the stake that is connected.

        If the validators vote, connected stake is the stake that polls reach: that of validators which are connected
        and answer. How much of it is enough follows from the quorum (snowman.md 1).
        """
        voting = self._voting(self.platform)
        stake = self._connected_stake() if voting is None else voting.stake.connected
        limits = self._limits()
        if voting is not None:
            limits = limits._replace(stake=voting.parameters.min_connected_to_be_healthy)
        sync = self._reported_sync(self.platform)
        return rules.p_chain(
            self._outstanding(self.platform_runtime, sync),
            stake,
            self.writes.refusal(),
            self._obstacle(self.platform, sync),
            self._standstill(self.platform),
            in_network=network.in_network(self.platform),
            limits=limits,
        )

    def measure_x_chain(self) -> Finding:
        """Measure the X-Chain like an EVM chain."""
        chain = self.avm.chain
        if is_left_out(chain.name):
            return rules.absent(absence(chain.name), self._missing_votes())
        sync = self._reported_sync(chain)
        outstanding = self._outstanding(self.avm, sync)
        return rules.x_chain(
            outstanding,
            xchain.waiting(chain).txs if outstanding.count else 0,
            self.writes.refusal(),
            self._obstacle(chain, sync),
            self._standstill(chain),
            limits=self._limits(),
        )

    def measure_bootstrapped(self) -> Finding:
        """Measure whether all chains that count for this node's health have finished their initial sync."""
        if (self.node.bootstrap or self.node.votes) and self._reported() is None:
            return rules.bootstrapped({P_CHAIN: False})
        names = (*self.node.chains, *(chain.name for chain in self._further()))
        done = {name: network.is_bootstrapped(name) for name in names}
        waiting = "" if all(done.values()) else network.waiting()
        return rules.bootstrapped(done, waiting)

    def measure_network(self) -> Finding:
        """Measure the values that the network process reports."""
        reported, now = self._reported(), datetime.now(UTC)
        if reported is None:
            silent = self._excess_silence(now.timestamp() - self.began)
            since = now.timestamp() - self.began
            traffic = NetworkTraffic(
                0, 0.0, since, since, has_sent=False, has_received=False, silent=silent
            )
            return rules.network(traffic, in_network=network.in_network(self.platform))
        traffic = NetworkTraffic(
            connected=reported.connected if is_fresh(reported) else 0,
            send_fail_rate=reported.send_fail_rate,
            since_sent=_age(reported.last_sent_at or reported.started_at, now),
            since_received=_age(reported.last_received_at or reported.started_at, now),
            has_sent=reported.last_sent_at is not None,
            has_received=reported.last_received_at is not None,
            silent=self._excess_silence(_age(reported.heartbeat_at, now)),
            failures=tuple(map(str, network.dial_failures(reported))),
        )
        return rules.network(traffic, in_network=network.in_network(self.platform))

    def _further(self) -> list[EvmChain]:
        """Return the chains besides the C-Chain that count for the node's health."""
        chains = [evm.chain for evm in self.evms[1:]]
        return [chain for chain in chains if self.node.watches(chain.subnet_id)]

    def _missing_votes(self) -> str:
        """Return a warning if this node's stake counts on a chain that it does not vote on, else an empty text."""
        if not self.node.votes:
            return ""
        validators = stakers.current_validators(self.platform).by_node
        return MISSING_VOTES if self.platform.node_id in validators else ""

    def _outstanding(self, runtime: AnyRuntime, row: network.Sync | None) -> Outstanding:
        """Return the blocks that this node makes or should make, and the undecided blocks of its peers."""
        chain = runtime.chain
        here = self._blocks_in_progress(chain)
        count, longest = len(here), max((seconds for _, seconds in here), default=0.0)
        overdue = self._overdue(runtime)
        if overdue is not None:  # it is the block in progress, if there is one
            count, longest = max(count, 1), max(longest, overdue)
        if row is None:
            return Outstanding(count, longest)
        if row.oldest_outstanding_at is not None:
            longest = max(longest, _age(row.oldest_outstanding_at, datetime.now(UTC)))
        return Outstanding(count + row.outstanding, longest)

    def _limits(self) -> ConsensusLimits:
        """Return the limits of undecided blocks; if the validators vote, the settings define them."""
        snow = self.settings.snow
        return (
            ConsensusLimits(snow.max_processing, snow.max_time_processing)
            if self.node.votes
            else ConsensusLimits()
        )

    def _blocks_in_progress(self, chain: AnyChain) -> list[tuple[int, float]]:
        """Return height and age in seconds of the blocks that processes of this node are building.

        A process that was killed leaves its entry behind, so entries up to the chain's height are ignored.
        """
        here = (
            chain.building.outstanding()
        )  # first: a block committed after this line is ignored below
        if not here:
            return []
        if isinstance(chain, PlatformChain | AvmChain):
            height = chain.tip().height
        else:
            head = figures.head(chain)
            height = -1 if head is None else head.number
        return [(number, seconds) for number, seconds in here if number > height]

    def _standstill(self, chain: AnyChain) -> Standstill | None:
        """Return the block that other nodes should make, if this node is a follower and knows that one is due.

        In interval mode a transaction may also wait for the interval; blocks that are mined manually are never
        due. If the validators vote, this node may be at fault as well as the others.
        """
        node, now = self.node, clock.now()
        if not (node.bootstrap or node.producer or node.votes):
            return None  # this node makes all blocks; the early return saves queries
        if not network.is_bootstrapped(chain.name):
            return None
        maker = self.producer()
        if maker == self.platform.node_id:
            return None
        due: DueBlock | None = None
        patience = 0.0
        if isinstance(chain, PlatformChain):
            due = platform.due(chain, now)
        elif isinstance(chain, AvmChain):
            due = xchain.due(chain)
        elif (mining := chain.settings.mining) != "manual":
            due = cchain.due(chain, now)
            patience = chain.settings.block_interval if mining == "interval" else 0.0
        if due is None:
            return None
        seconds = min(now - due.since, time.time() - self.began) - patience
        if maker is None:
            return Standstill(due.transactions, seconds, "", connected=False)
        connected = maker in network.connected_ids()
        return Standstill(due.transactions, seconds, str(maker), connected=connected)

    def _overdue(self, runtime: AnyRuntime) -> float | None:
        """Return how many seconds overdue the block is that this node may make; None if no block is due.

        The time counts from the start of this process at the earliest, because the others may have just started too.
        """
        chain, now = runtime.chain, clock.now()
        due: DueBlock | None
        if isinstance(chain, PlatformChain):
            due = platform.due(chain, now)
        elif isinstance(chain, AvmChain):
            due = xchain.due(chain)
        else:
            development.refresh_mining_settings(chain)
            due = cchain.due(chain, now) if development.mines_on_arrival(chain) else None
        if due is None or not runtime.consensus.may_produce(due.height, now):
            return None
        return max(0.0, min(now - due.since, time.time() - self.began))

    def _voting(self, chain: AnyChain) -> ConsensusReport | None:
        """Return how this node takes part in the voting on a chain; None if it does not vote or there is no voting."""
        return self._deciding(chain) if self.node.votes else None

    def _deciding(self, chain: AnyChain) -> ConsensusReport | None:
        """Return the state of consensus on a chain, by votes or by the node that this node follows."""
        node = self.node
        if not (node.votes or node.bootstrap or node.producer):
            return None  # this node decides alone; the early return saves queries
        if self._reported() is None:
            return None
        report = network.consensus_now(chain.name)
        return report if report is not None and report.is_running else None

    def _obstacle(self, chain: AnyChain, row: network.Sync | None) -> str:
        """Return why a chain cannot continue, as a text; empty if it can."""
        deciding = self._deciding(chain)
        obstacles = [
            None if row is None else row.obstacle,
            None if deciding is None else deciding.obstacle,
        ]
        return ", ".join(filter(None, obstacles))

    def _connected_stake(self) -> float:
        """Return the share of the stake that is connected, including this node's own."""
        connected = () if self._reported() is None else network.peers()
        return network.connected_stake(self.platform, connected).fraction

    def _reported_sync(self, chain: AnyChain) -> network.Sync | None:
        """Return the sync state of a chain that the network process reports; None without a fresh report."""
        reported = self._reported()
        if reported is None or not is_fresh(reported):
            return None
        return network.sync_of(chain.name)

    def _reported(self) -> network.Status | None:
        """Return the latest report of the network process, or None if it has not reported since this process started.

        For a while after a restart the rows describe the time before it: peers that are no longer connected, and
        chains that may have to be synced again. A check that used them would pass first and then fail.
        Unspecified: if only this process restarted, it ignores the network process, too, until that reports again:
        within one second, or within five if no peer is connected.
        """
        reported = network.status()
        if reported is not None and reported.heartbeat_at.timestamp() >= self.began:
            self.has_reported.set()
        return reported if self.has_reported.is_set() else None

    def _excess_silence(self, silence: float) -> float | None:
        """Return the seconds of silence of the network process if they exceed the tolerance; a fork has no such process."""
        expected = self.settings.network and self.evms[0].chain.fork is None
        return silence if expected and silence > HEARTBEAT_TOLERANCE else None


def _age(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds())
