"""The page at /ext/metrics, assembled from the counts of the node's processes and from the database.

All metrics from the database are read together in a thread with a timeout, because monitoring must not hang. Each
part is read separately, so that a part that fails does not hide the others.
"""

import logging
import platform
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import django
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.utils import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django_prometheus.middleware import (  # type: ignore[import-untyped]
    PrometheusAfterMiddleware,
    PrometheusBeforeMiddleware,
)
from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from typing_extensions import override

from cchain_app.chain import EvmChain
from chaindb import last_backup
from chaindb.connections import release
from chaindb.database import Database
from health_app.metrics import chains, network
from health_app.metrics.instruments import NAMESPACE, gauge, grouped
from health_app.metrics.sharing import Process, SharedProcesses, SingleProcess
from health_app.result import CheckResult
from info_app.version import COMMIT, PRODUCT
from platform_app.chain import PlatformChain
from primitives.ids import ID
from xchain_app.chain import AvmChain

SECONDS: Final = 4.0
"""Timeout of the database; Prometheus gives up after ten seconds by default."""

_AWAY: Final = (OperationalError, InterfaceError)
"""Django's errors if the database does not answer."""

_SIZE_OF_POSTGRESQL: Final = "SELECT pg_database_size(current_database())"
_STATES: Final = """
SELECT COALESCE(state, 'none'), COUNT(*) FROM pg_stat_activity
WHERE datname = current_database() GROUP BY 1
"""
_APPLIED: Final = "SELECT app, name FROM django_migrations"

_log: Final = logging.getLogger(__name__)

Part = tuple[str, Callable[[], Iterator[Metric]]]


class DatabasePart:
    """Metrics of the database itself: size, connections, missing migrations, the last backup."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._migrations: frozenset[tuple[str, str]] = frozenset()

    def __call__(self) -> Iterator[Metric]:
        """Yield the metrics. A squashed migration counts as the migrations that it replaces."""
        self._migrations = self._migrations or frozenset(MigrationLoader(None).disk_migrations)
        applied = {(app, name) for app, name in self._db.rows(_APPLIED)}
        yield gauge("database_migrations_unapplied", len(self._migrations - applied))
        if (backup := last_backup.find(self._db)) is not None:
            yield gauge("backup_last_timestamp_seconds", backup.finished_at.timestamp())
            yield gauge("backup_last_size_bytes", backup.size)
            yield gauge("backup_last_duration_seconds", backup.seconds)
        connection = self._db.connection
        if connection.vendor == "postgresql":
            ((size,),) = self._db.rows(_SIZE_OF_POSTGRESQL)
            yield gauge("database_size_bytes", size, part="database")
            for state, number in self._db.rows(_STATES):
                yield gauge("database_server_connections", number, state=state)
            yield from _of_replicas(self._db)
            return
        name = str(connection.settings_dict["NAME"])
        for part, ending in (("database", ""), ("log", "-wal")):
            path = Path(name + ending)
            size = path.stat().st_size if path.exists() else 0
            yield gauge("database_size_bytes", size, part=part)


def _of_replicas(db: Database) -> Iterator[Metric]:
    """Yield whether each read replica is in use, and how far behind it is, as the last read found."""
    for state in db.replicas.states() if db.replicas else ():
        yield gauge("database_replica_in_use", int(not state.reason), replica=state.address)
        if state.behind is not None:
            yield gauge("database_replica_behind_bytes", state.behind, replica=state.address)


def parts(
    platform: PlatformChain,
    evms: Sequence[EvmChain],
    avm: AvmChain | None = None,
    *,
    subnets: Callable[[], Collection[ID]] = frozenset,
) -> tuple[Part, ...]:
    """Return all parts, in the order in which they are read.

    Args:
        platform: The node's P-Chain.
        evms: Its EVM chains, the C-Chain first; each other one is a part by its name. Chains may be added later, with
            their own parts.
        avm: Its X-Chain; None: without it.
        subnets: Returns the subnets that the node tracks.
    """
    cchain, *further = evms
    more = () if avm is None else (avm,)
    return (
        ("cchain", partial(chains.of_evm, cchain)),
        *((item.name, partial(chains.of_evm, item)) for item in further),
        ("platform", partial(chains.of_platform, platform, evms, subnets)),
        *(("xchain", partial(chains.of_avm, item)) for item in more),
        ("transfers", partial(chains.of_transfers, platform)),
        ("network", partial(network.of_network, platform, evms)),
        ("bootstrap", lambda: network.of_bootstrap((platform, *more, *evms))),
        ("consensus", lambda: network.of_consensus((platform, *more, *evms))),
        ("database", DatabasePart(platform.db)),
    )


class RowCounts:
    """Reads the parts in a thread of its own. If a read hangs, later requests wait for the same read.

    The thread stays and keeps its connection to SQLite, because opening one takes a fifth of a request's time.

    Args:
        parts: The parts.
        seconds: Timeout of a read.
    """

    def __init__(self, parts: Iterable[Part], seconds: float = SECONDS) -> None:
        self._parts = tuple(parts)
        self._seconds = seconds
        self._lock = threading.Lock()
        self._reading: Future[list[Metric]] | None = None
        self._asked: SimpleQueue[Future[list[Metric]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        """Started for the first read."""
        self._failing: set[str] = set()
        """Parts that failed the last time: the log reports each change, not each scrape."""

    def add(self, *parts: Part) -> None:
        """Read further parts from now on."""
        self._parts = (*self._parts, *parts)

    def remove(self, name: str) -> None:
        """Read a part no longer."""
        self._parts = tuple(part for part in self._parts if part[0] != name)
        self._failing.discard(name)

    def metrics(self) -> list[Metric]:
        """Return newly read metrics; after the timeout only `database_up` with 0."""
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="metrics-rows", daemon=True)
                thread.start()
                self._thread = thread
            if self._reading is None:
                self._reading = Future()
                self._asked.put(self._reading)
            reading = self._reading
        try:
            return reading.result(self._seconds)
        except TimeoutError:
            return [gauge("database_up", 0)]

    def read(self) -> list[Metric]:
        """Read all parts in this thread; once the database does not answer, the remaining parts are skipped."""
        metrics: list[Metric] = []
        up = True
        for name, part in self._parts:
            began = time.monotonic()
            error: Exception | None = None
            if up:
                try:
                    metrics += list(part())
                except Exception as failure:  # after any failure the other parts are shown
                    error = failure
                self._log_change(name, error)
            up = up and not isinstance(error, _AWAY)
            metrics.append(gauge("scrape_success", up and error is None, part=name))
            metrics.append(gauge("scrape_duration_seconds", time.monotonic() - began, part=name))
        return [*metrics, gauge("database_up", up)]

    def _log_change(self, name: str, error: Exception | None) -> None:
        """Log that a part cannot be read, if it could be read before."""
        if error is None:
            self._failing.discard(name)
        elif name not in self._failing:
            self._failing.add(name)
            trace = None if isinstance(error, _AWAY) else error
            _log.warning("metrics of %s cannot be read: %s", name, error, exc_info=trace)

    def _run(self) -> None:
        """Read whenever it is asked for."""
        while True:
            reading = self._asked.get()
            try:
                metrics = self._read_and_release()
            except BaseException as error:
                self._end_read()
                reading.set_exception(error)
            else:
                self._end_read()
                reading.set_result(metrics)

    def _read_and_release(self) -> list[Metric]:
        try:
            return self.read()
        finally:
            release()

    def _end_read(self) -> None:
        """Let the next request start another read."""
        with self._lock:
            self._reading = None


_NANOSECONDS: Final = 1_000_000_000

Checks = Callable[[], tuple[Mapping[str, CheckResult], Mapping[str, Collection[str]]]]
"""Returns the results of this process's health checks, and their tags, both by name."""


class MetricsCollector(Collector):
    """All metrics as a collector of the client library.

    Args:
        processes: The counts of the processes.
        rows: Reads metrics from the database.
        checks: Returns the results of the health checks.
        cchain: The C-Chain, whose engine is shown.
    """

    def __init__(
        self,
        processes: SingleProcess | SharedProcesses,
        rows: RowCounts,
        checks: Checks,
        cchain: EvmChain,
    ) -> None:
        self._processes = processes
        self._rows = rows
        self._checks = checks
        self._cchain = cchain

    def text(self) -> tuple[str, bytes]:
        """Return content type and text of the page. It may wait for the database, so call it in a thread."""
        return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self)

    @override
    def collect(self) -> Iterator[Metric]:
        machine = of_machine(settings.NODE.common.directory)
        own = [
            *of_checks(*self._checks()),
            *of_build(self._cchain),
            *machine,
            *self._rows.metrics(),
        ]
        yield from grouped(own)
        yield from self._processes.collect()
        yield from grouped(of_processes(self._processes.running()))


def of_checks(
    results: Mapping[str, CheckResult], tags: Mapping[str, Collection[str]]
) -> Iterator[Metric]:
    """Yield the results of health checks: one gauge without labels for alerts, gauges with labels under other names.

    A sum over a gauge with and without labels would count twice (gaps.md 7).
    """
    yield gauge("health_checks_failing", sum(not result.healthy for result in results.values()))
    failing = Counter({tag: 0 for name in results for tag in tags[name]})
    failing.update(
        tag for name, result in results.items() if not result.healthy for tag in tags[name]
    )
    for tag, number in sorted(failing.items()):
        yield gauge("health_checks_failing_of_tag", number, tag=tag)
    for name, result in results.items():
        yield gauge("health_check_fails", not result.healthy, check=name)
        yield gauge("health_check_duration_seconds", result.duration / _NANOSECONDS, check=name)
        yield gauge("health_check_contiguous_failures", result.contiguous_failures, check=name)


def of_build(cchain: EvmChain) -> Iterator[Metric]:
    """Yield versions and settings as labels of a gauge that is always 1."""
    node = settings.NODE
    yield gauge(
        "build_info",
        1,
        version=PRODUCT.rpartition("/")[2],
        commit=COMMIT,
        python=platform.python_version(),
        django=django.get_version(),
        engine=cchain.engine.name,
        database=connection.vendor,
        profile=node.common.profile,
        network_id=str(node.common.network_id),
    )


def of_machine(directory: Path, meminfo: Path = Path("/proc/meminfo")) -> Iterator[Metric]:
    """Yield the free space beside the node's data, the machine's memory and its time.

    Unspecified: memory is the machine's, also in a container with a limit of its own, for which the container runtime has
    metrics; systems without `/proc/meminfo` have none.

    Args:
        directory: The data directory.
        meminfo: The kernel's table of the memory.
    """
    disk = shutil.disk_usage(directory)
    yield gauge("data_directory_free_bytes", disk.free)
    yield gauge("data_directory_size_bytes", disk.total)
    if meminfo.exists():
        words = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        for name, row in (("available", "MemAvailable"), ("total", "MemTotal")):
            yield gauge(f"machine_memory_{name}_bytes", int(words[row].split()[0]) * 1024)
    yield gauge("machine_time_seconds", time.time())


def of_processes(running: Iterable[Process]) -> Iterator[Metric]:
    """Yield the operating system's metrics of each process of the node, with role and pid as labels."""
    for role, pid in running:
        collector = ProcessCollector(NAMESPACE, pid=lambda pid=pid: pid, registry=None)  # type: ignore[misc]
        for metric in collector.collect():
            labels = {"role": role, "pid": str(pid)}
            metric.samples = [sample._replace(labels=labels) for sample in metric.samples]
            yield metric


class BeforeMiddleware(PrometheusBeforeMiddleware):  # type: ignore[misc]  # untyped
    """Outermost middleware: measures a request including all other middleware."""


class After(PrometheusAfterMiddleware):  # type: ignore[misc]  # untyped
    """Innermost middleware: measures the view."""

    @override
    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponse | None = None, **labels: str
    ) -> Any:
        """Return a metric's child with these labels.

        The base class would create a series for any word that a client sends as the HTTP method.
        """
        if "method" in labels:
            labels["method"] = self._method(request)
        return super().label_metric(metric, request, response, **labels)
