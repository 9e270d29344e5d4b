"""The metrics of a node with one or several processes, added up.

Several processes share a directory, in the client library's multiprocess mode. Each process has a number there, which
it reserves with a file lock while it runs. A process that takes the number of an exited one continues to count
in its files, so sums never fall, rates do not jump, and there are never more files than processes.
"""

import atexit
import fcntl
import logging
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from prometheus_client import REGISTRY, values
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from health_app.metrics.instruments import NAMESPACE, gauge
from health_app.metrics.process import ProcessMetrics

INTERVAL: Final = 1.0
"""Seconds between two updates of the files that other processes read."""

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable in which the client library looks for the directory."""

OLDEST: Final = "api_oldest_call_started_seconds"
LONGEST: Final = "api_longest_call_seconds"

_log: Final = logging.getLogger(__name__)


class Process(NamedTuple):
    """A running process of the node."""

    role: str
    """ "web", "producer", "worker", "beat", "network"; "node" for a single process."""
    pid: int


class SingleProcess:
    """The only process of the embedded profile."""

    def __init__(self, process: ProcessMetrics) -> None:
        self.process = process

    def register(self, role: str) -> None:
        """Do nothing: there are no other processes to register with."""

    def start(self) -> None:
        """Do nothing: values are read at the time of each request."""

    def running(self) -> list[Process]:
        """Return this process."""
        return [Process("node", os.getpid())]

    def router(self) -> tuple[int, float]:
        """Return how many calls are unanswered, and how many seconds the oldest has been running."""
        return self.process.router()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of this process."""
        self.process.update()
        yield from self.process.instruments.registry.collect()
        yield gauge(LONGEST, self.router()[1])
        # Metrics of django-prometheus are in the global registry, because Django creates its middleware.
        yield from (
            metric for metric in REGISTRY.collect() if metric.name.startswith(f"{NAMESPACE}_")
        )


class SharedProcesses:
    """The processes of a node that share a directory, as seen by one of them.

    Args:
        process: The metrics of this process.
        directory: A directory on this machine. It is kept when the node stops, so counts continue after a restart.
    """

    def __init__(self, process: ProcessMetrics, directory: Path) -> None:
        self.process = process
        self._directory = directory
        self._role = ""
        self._number_file: IO[str] | None = None
        self._number = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def register(self, role: str) -> None:
        """Reserve a number before this process counts anything; later calls do nothing."""
        if self._role:
            return
        self._role = role
        self._directory.mkdir(exist_ok=True)
        self._reserve_number()
        os.environ[VARIABLE] = str(self._directory)
        mapped: Any = values.MultiProcessValue
        values.ValueClass = mapped(lambda: self._number)
        os.register_at_fork(after_in_child=self._after_fork)

    def start(self) -> None:
        """Start a thread that updates this process's files regularly; later calls do nothing."""
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(
                target=self._update_regularly, name="metrics", daemon=True
            )
            self._thread.start()
        atexit.register(self.update)

    def update(self) -> None:
        """Write this process's counts and state to its files."""
        if not self._role:
            return
        self.process.update()
        longest = self.process.router()[1]
        oldest = self.process.instruments.gauge(OLDEST, mode="livemin")
        oldest.set(time.monotonic() - longest if longest else math.inf)

    def running(self) -> list[Process]:
        """Return the running processes, and remove the live gauges of those that have exited."""
        processes = []
        for path in self._directory.glob("process_*"):
            with path.open() as file:
                if _lock(file, fcntl.LOCK_SH):
                    _remove_live_gauges(self._directory, int(path.name.rpartition("_")[2]))
                elif fields := file.read().split():  # empty while a process is reserving the number
                    processes.append(Process(fields[0], int(fields[1])))
        return sorted(processes, key=lambda process: process.pid)

    def router(self) -> tuple[int, float]:
        """Return how many calls are unanswered, and how many seconds the oldest has been running.

        Covers all processes of this node on this machine; values are up to one second old.
        """
        metrics = {metric.name: metric for metric in self._read("gauge_live*.db")}
        calls = _only(metrics.get(f"{NAMESPACE}_api_calls_processing"), 0.0)
        return int(calls), _age(metrics.get(f"{NAMESPACE}_{OLDEST}"))

    def collect(self) -> Iterator[Metric]:
        """Yield the combined metrics of all processes."""
        metrics = {metric.name: metric for metric in self._read("*.db")}
        oldest = metrics.pop(f"{NAMESPACE}_{OLDEST}", None)
        yield from metrics.values()
        yield gauge(LONGEST, _age(oldest))

    def _read(self, pattern: str) -> Iterable[Metric]:
        self.update()
        self.running()
        untyped: Any = MultiProcessCollector
        metrics: Iterable[Metric] = untyped.merge(map(str, self._directory.glob(pattern)))
        return metrics

    def _reserve_number(self) -> None:
        """Reserve the first number that no running process has, and write role and pid to its file."""
        number = 0
        file = (self._directory / f"process_{number}").open("a+")
        while not _lock(file, fcntl.LOCK_EX):
            file.close()
            number += 1
            file = (self._directory / f"process_{number}").open("a+")
        _remove_live_gauges(self._directory, number)
        file.truncate(0)
        file.write(f"{self._role} {os.getpid()}")
        file.flush()
        self._number_file, self._number = file, number

    def _after_fork(self) -> None:
        """Become a separate process after a fork; the parent keeps its number."""
        if self._number_file is not None:
            self._number_file.close()
        self._lock, self._thread = threading.Lock(), None
        self.process.reset()
        self._reserve_number()

    def _update_regularly(self) -> None:
        while True:
            time.sleep(INTERVAL)
            try:
                self.update()
            except Exception:  # the next second tries again
                _log.exception("the metrics of this process could not be written to its files")


def _lock(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_live_gauges(directory: Path, number: int) -> None:
    """Remove the live gauges of an exited process; its counters stay."""
    untyped: Any = mark_process_dead
    untyped(number, str(directory))


def _age(oldest: Metric | None) -> float:
    """Return how long the oldest call has been running, calculated from its start.

    This is correct even if the process that runs it can no longer update its files.
    """
    return max(0.0, time.monotonic() - _only(oldest, math.inf))


def _only(metric: Metric | None, missing: float) -> float:
    """Return the value of a metric without labels."""
    return metric.samples[0].value if metric is not None and metric.samples else missing
