"""Exposes this process to monitoring: its health, its counters and its gauges."""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Final

from django.core.cache import caches
from prometheus_client.core import Metric

from cchain_app.api import EvmRpc
from cchain_app.blocks.receipt import bloom_bits
from cchain_app.chain import EvmChain
from chaindb import servers
from chaindb.chains import C_CHAIN, NodeChain, is_left_out
from health_app import services
from health_app.checks import ALL, Checks, HealthCheck
from health_app.history import HistoryWriter
from health_app.metrics.chains import of_evm
from health_app.metrics.exposition import MetricsCollector, Part, RowCounts, parts
from health_app.metrics.instruments import gauge
from health_app.metrics.listeners import StatementListener, TaskListener
from health_app.metrics.process import CacheState
from health_app.metrics.sharing import SharedProcesses, SingleProcess
from health_app.reporter import SHORTEST_INTERVAL, WARM_UP, Reporter
from health_app.result import CheckResult, Finding
from health_app.supply import CountedChains, SupplyWatch, count_coins
from health_app.writing import HOLD, Writes
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.fast_path import DirectProtocol
from network_app.apps import node_network
from nodeproject.settings.node import NodeSettings
from nodeproject.web.memory_cache import MemoryCache
from platform_app.api import PlatformRpc
from platform_app.services.runtime import PlatformRuntime
from primitives.bounded_cache import HitCounter
from primitives.ids import ID
from xchain_app.services.runtime import AvmRuntime

_REMEMBERING: Final[dict[str, Any]] = {
    "cchain_bloom_bits": bloom_bits,
}
"""Functions with an `lru_cache`."""


class Observation:
    """The metrics and the health of this process, and the page that shows both.

    Args:
        settings: The operator's settings.
        processes: The processes that share their metrics; this process's own metrics are among them.
        evm_rpcs: The state of each EVM chain's interfaces, whose caches and listeners are shown; the C-Chain is first.
        platform_rpc: The state of the P-Chain's interfaces, likewise.
        platform: The running P-Chain.
        avm: The running X-Chain.
    """

    def __init__(
        self,
        settings: NodeSettings,
        processes: SingleProcess | SharedProcesses,
        evm_rpcs: Mapping[str, EvmRpc],
        platform_rpc: PlatformRpc,
        platform: PlatformRuntime,
        *,
        avm: AvmRuntime,
    ) -> None:
        self._observes_hubs = self._observes_blocks = False
        self._common = settings.common
        self._interval = max(SHORTEST_INTERVAL, settings.health.health_interval)
        self._processes = processes
        self._avm = avm
        self._evm_rpcs = list(evm_rpcs.values())
        self._evm_chains = [evm_rpc.chain for evm_rpc in self._evm_rpcs]
        self._refused: dict[str, HealthCheck] = {}
        """The checks of chains of subnets that do not run, which fail, by name."""
        self._evms = [evm_rpc.runtime for evm_rpc in self._evm_rpcs]
        self._platform_rpc = platform_rpc
        self.metrics = processes.process
        """The metrics of this process."""
        self.writes = Writes(max(HOLD, 2 * self._interval))
        """The results of this process's database writes."""
        self.supply = self._supply(settings.health.supply_interval)
        """Counts the coins from time to time; None: only a command does."""
        self._checks = Checks(
            settings.common,
            settings.peers,
            self._evms,
            platform,
            avm,
            lambda: node_network().producer.node_id,
            processes.router,
            self.writes,
            self.supply,
        )

    @cached_property
    def page(self) -> MetricsCollector:
        """The page for Prometheus."""
        return MetricsCollector(
            self._processes, self._rows, self.check_results, self._evm_chains[0]
        )

    @cached_property
    def _rows(self) -> RowCounts:
        return RowCounts(self.parts())

    def parts(self) -> tuple[Part, ...]:
        """Return the metrics read from the database: health's own, and the explorer's, which health cannot import."""
        return (
            *parts(
                self._platform_rpc.chain,
                self._evm_chains,
                self._avm.chain,
                subnets=lambda: node_network().subnets(),
            ),
            ("tokens", self._tokens),
        )

    def _supply(self, seconds: float) -> SupplyWatch | None:
        """Return what counts the coins every so many seconds; None for 0 seconds."""
        if not seconds:
            return None
        chains = CountedChains(self._platform_rpc.chain, self._evm_chains[0], self._avm.chain)
        return SupplyWatch(partial(count_coins, chains), seconds)

    def _tokens(self) -> Iterator[Metric]:
        """Yield the height of the token index; nothing if it was never started or this node has no C-Chain."""
        from explorer_app.selectors import tokens  # loaded with the first scrape

        evm = self._evm_chains[0]
        written = None if is_left_out(evm.name) else tokens.progress(evm)
        if written is not None:
            yield gauge("explorer_tokens_height", written.height)

    @cached_property
    def reporter(self) -> Reporter:
        """Runs this process's health checks and records changes in the history."""
        db = self._platform_rpc.chain.db
        history = HistoryWriter(
            partial(services.record, db), partial(services.touch, db), writes=self.writes
        )
        return Reporter(
            (*self._checks.table(), *self._refused.values()),
            changed=history.note,
            begin=history.probe,
            outages=servers.outages,
            interval=self._interval,
            warm_up=WARM_UP,
        )

    def observe_web(self, workers: Workers) -> None:
        """Collect the metrics of a process with a web server, and share them with the other processes.

        Args:
            workers: The threads that run its calls.
        """
        self._observe_work()
        self.metrics.workers = workers
        self._observes_hubs = True
        self.metrics.hubs = tuple(evm_rpc.hub for evm_rpc in self._evm_rpcs)
        self.metrics.http_connections = DirectProtocol.open_connections
        self._processes.start()

    def observe(self, role: str) -> None:
        """Collect the metrics of a process without a web server.

        Args:
            role: Its role: "network", "producer" or "beat".
        """
        self._processes.register(role)
        self._observe_work()
        self._processes.start()

    def observe_worker(self) -> None:
        """Collect the metrics of a worker; its child processes are forked later and join with their first task."""
        self._processes.register("worker")
        self._observe_work()
        self.observe_tasks()

    def observe_tasks(self) -> None:
        """Count the tasks that this process runs: a worker, or a node of the embedded profile."""
        TaskListener(self.metrics, self._processes, self.writes).connect()

    def check_results(self) -> tuple[Mapping[str, CheckResult], Mapping[str, Collection[str]]]:
        """Return the results of this process's health checks, and the tags of the checks."""
        checks = self.reporter.health().checks
        refused = {name: check.tags for name, check in tuple(self._refused.items())}
        tags = {**self._checks.tags, **refused}
        return checks, {name: found | {ALL} for name, found in tags.items()}

    def add_evm(self, rpc: EvmRpc) -> None:
        """Show a chain that this process begins to run."""
        chain = rpc.chain
        self._evm_rpcs.append(rpc)
        self._evm_chains.append(chain)
        self._evms.append(rpc.runtime)
        if self._observes_blocks:
            chain.building.observe(partial(self.metrics.block, chain.name))
        if self._observes_hubs:
            self.metrics.hubs = tuple(evm_rpc.hub for evm_rpc in self._evm_rpcs)
        if "_rows" in self.__dict__:
            self._rows.add((chain.name, partial(of_evm, chain)))
        self._refused.pop(chain.name, None)  # it may have been refused for a reason that has passed
        if "reporter" in self.__dict__ and self._common.watches(chain.subnet_id):
            self.reporter.add(self._checks.of_further(rpc.runtime))

    def remove_evm(self, rpc: EvmRpc) -> None:
        """Show a chain no longer, which this process runs no longer."""
        chain = rpc.chain
        self._evm_rpcs.remove(rpc)
        self._evm_chains.remove(chain)
        self._evms.remove(rpc.runtime)
        if self._observes_hubs:
            self.metrics.hubs = tuple(evm_rpc.hub for evm_rpc in self._evm_rpcs)
        if "_rows" in self.__dict__:
            self._rows.remove(chain.name)
        if "reporter" in self.__dict__:
            self.reporter.remove(chain.name)

    def add_refused(self, blockchain_id: ID, subnet_id: ID, reason: str) -> None:
        """Show a chain of a subnet that does not run: its check fails, with the reason, if it counts for the node's health.

        A further call with the same reason, after another attempt to run the chain, changes nothing.
        """
        if not self._common.watches(subnet_id):
            return
        name = str(blockchain_id)
        known = self._refused.get(name)
        if known is not None and known.measure().error == reason:
            return
        check = HealthCheck(name, lambda: Finding(error=reason), frozenset({str(subnet_id)}))
        self._refused[name] = check
        if "reporter" in self.__dict__:
            self.reporter.add(check)

    def forget_refused(self) -> None:
        """Show the chains that do not run no longer, because the P-Chain may not have them any more."""
        names, self._refused = tuple(self._refused), {}
        if "reporter" in self.__dict__:
            for name in names:
                self.reporter.remove(name)

    def _observe_work(self) -> None:
        """Count statements and blocks of this process, whatever its role."""
        if not self.metrics.is_listening:  # once per process, even if it creates several nodes
            self.metrics.is_listening = True
            StatementListener(self.metrics).connect()
        self._observes_blocks = True
        chains: tuple[NodeChain, ...] = (self._platform_rpc.chain, *self._evm_chains)
        for chain in chains:
            chain.building.observe(partial(self.metrics.block, chain.name))
        self.metrics.caches = self._cache_states

    def _cache_states(self) -> dict[str, CacheState]:
        """Return the states of the caches in this process's memory; those in Redis are shared and not included."""
        states = {
            f"{prefix}_{name}": CacheState(*kept)
            for prefix, chain in self._prefixes()
            for name, kept in chain.memory.kept().items()
        }
        for name, memory in self._platform_rpc.chain.stakers._asdict().items():
            states[f"platform_{name}"] = CacheState(len(memory), memory.hits, memory.misses)
        answers = self._platform_rpc.chain.answers
        states["platform_answers"] = _state(len(answers), answers.asked)
        for alias in caches:
            cache: Any = caches[alias]
            if isinstance(cache, MemoryCache):
                states[f"django_{alias}"] = _state(len(cache), cache.asked)
        remembering = _REMEMBERING | {
            "platform_ids": self._platform_rpc.id_text,
            "platform_node_ids": self._platform_rpc.node_text,
        }
        for name, function in remembering.items():
            known = function.cache_info()
            states[name] = CacheState(known.currsize, known.hits, known.misses)
        return states

    def _prefixes(self) -> Iterator[tuple[str, EvmChain]]:
        """Yield the EVM chains with the beginning of their caches' names."""
        for chain in self._evm_chains:
            yield "cchain" if chain.name == C_CHAIN else chain.name, chain


def _state(entries: int, asked: HitCounter) -> CacheState:
    return CacheState(entries, asked.hits.read(), asked.misses.read())
