"""One node, one process or several: what they count together.

Several share a directory, in the client library's multiprocess mode. Each has a number there, which a
lock on a file keeps as long as the process lives. A process that takes the number of a dead one counts on
in its files, so that no sum falls, no rate leaps, and there are no more files than processes.
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
"""Seconds between two updates of what others see of a process."""

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Where the client library looks for the directory."""

OLDEST: Final = "api_oldest_call_started_seconds"
LONGEST: Final = "api_longest_call_seconds"

_log: Final = logging.getLogger(__name__)


class Process(NamedTuple):
    """A process of the node that lives."""

    role: str
    """ "web", "producer", "worker", "beat", "network"; "node" where one process is all of them, "reader" beside it."""
    pid: int


class Alone:
    """The one process of the embedded profile where it has no readers beside it."""

    def __init__(self, process: ProcessMetrics) -> None:
        self.process = process

    def enrol(self, role: str) -> None:
        """Take no notice: there is nobody to say it to."""

    def start(self) -> None:
        """Do nothing: whoever asks gets what is true at that moment."""

    def living(self) -> list[Process]:
        """Return this process."""
        return [Process("node", os.getpid())]

    def router(self) -> tuple[int, float]:
        """Return how many calls are not answered, and for how many seconds the oldest has been running."""
        return self.process.router()

    def collect(self) -> Iterator[Metric]:
        """Walk what was counted."""
        self.process.update()
        yield from self.process.instruments.registry.collect()
        yield gauge(LONGEST, self.router()[1])
        # Of django-prometheus, whose middleware Django makes by its name.
        yield from (one for one in REGISTRY.collect() if one.name.startswith(f"{NAMESPACE}_"))


class Shared:
    """The processes of a node that share a directory, seen from one of them.

    Args:
        process: what this one counts.
        directory: on this machine; it stays when the node ends, and counts go on from there.
    """

    def __init__(self, process: ProcessMetrics, directory: Path) -> None:
        self.process = process
        self._directory = directory
        self._role = ""
        self._place: IO[str] | None = None
        self._number = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def enrol(self, role: str) -> None:
        """Take a place among the processes, before this one counts anything; later calls do nothing."""
        if self._role:
            return
        self._role = role
        self._directory.mkdir(exist_ok=True)
        self._take_place()
        os.environ[VARIABLE] = str(self._directory)
        mapped: Any = values.MultiProcessValue
        values.ValueClass = mapped(lambda: self._number)
        os.register_at_fork(after_in_child=self._begin_anew)

    def start(self) -> None:
        """Keep what others see of this process up to date from now on; later calls do nothing."""
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._live, name="metrics", daemon=True)
            self._thread.start()
        atexit.register(self.update)

    def update(self) -> None:
        """Write down what this process has counted, and how it is."""
        if not self._role:
            return
        self.process.update()
        longest = self.process.router()[1]
        oldest = self.process.instruments.gauge(OLDEST, mode="livemin")
        oldest.set(time.monotonic() - longest if longest else math.inf)

    def living(self) -> list[Process]:
        """Return the processes that live, and forget what those were at that do not."""
        found = []
        for path in self._directory.glob("process_*"):
            with path.open() as place:
                if _lock(place, fcntl.LOCK_SH):
                    _bury(self._directory, int(path.name.rpartition("_")[2]))
                elif said := place.read().split():  # nothing yet of one that is taking its place
                    found.append(Process(said[0], int(said[1])))
        return sorted(found, key=lambda one: one.pid)

    def router(self) -> tuple[int, float]:
        """Return how many calls are not answered, and for how many seconds the oldest has been running.

        Over all processes of this node on this machine, as of the last second.
        """
        found = {one.name: one for one in self._read("gauge_live*.db")}
        calls = _only(found.get(f"{NAMESPACE}_api_calls_processing"), 0.0)
        return int(calls), _age(found.get(f"{NAMESPACE}_{OLDEST}"))

    def collect(self) -> Iterator[Metric]:
        """Walk what all processes have counted together."""
        found = {one.name: one for one in self._read("*.db")}
        oldest = found.pop(f"{NAMESPACE}_{OLDEST}", None)
        yield from found.values()
        yield gauge(LONGEST, _age(oldest))

    def _read(self, pattern: str) -> Iterable[Metric]:
        self.update()
        self.living()
        untyped: Any = MultiProcessCollector
        metrics: Iterable[Metric] = untyped.merge(map(str, self._directory.glob(pattern)))
        return metrics

    def _take_place(self) -> None:
        """Take the first number that no living process has, and say what this process is."""
        number = 0
        place = (self._directory / f"process_{number}").open("a+")
        while not _lock(place, fcntl.LOCK_EX):
            place.close()
            number += 1
            place = (self._directory / f"process_{number}").open("a+")
        _bury(self._directory, number)
        place.truncate(0)
        place.write(f"{self._role} {os.getpid()}")
        place.flush()
        self._place, self._number = place, number

    def _begin_anew(self) -> None:
        """Be a process of its own after a fork; the parent's place is the parent's."""
        if self._place is not None:
            self._place.close()
        self._lock, self._thread = threading.Lock(), None
        self.process.begin_anew()
        self._take_place()

    def _live(self) -> None:
        while True:
            time.sleep(INTERVAL)
            try:
                self.update()
            except Exception:  # whatever it is, the next second has another try
                _log.exception("metrics could not be written down")


def _lock(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _bury(directory: Path, number: int) -> None:
    """Forget what a process was at; what it has counted stays."""
    untyped: Any = mark_process_dead
    untyped(number, str(directory))


def _age(oldest: Metric | None) -> float:
    """Return for how long the oldest call has been running, by when it began.

    The process that runs it may be one that can write nothing down any more.
    """
    return max(0.0, time.monotonic() - _only(oldest, math.inf))


def _only(metric: Metric | None, missing: float) -> float:
    """Return the value of a metric without labels."""
    return metric.samples[0].value if metric is not None and metric.samples else missing
