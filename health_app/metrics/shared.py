"""One node, several processes: each writes its figures down once a second, whoever is asked adds up.

In the embedded profile there is one process, and nothing is written.
"""

import atexit
import logging
import math
import os
import threading
import time
from pathlib import Path
from typing import Any, Final

from prometheus_client.core import Metric

from health_app.metrics import counted, files
from health_app.metrics.figures import metrics
from health_app.metrics.files import Process
from health_app.metrics.ledger import Ledger
from health_app.metrics.sources import SOURCES

INTERVAL: Final = 1.0
"""Seconds between two writings."""

ALONE: Final = "node"
"""What the one process of the embedded profile is."""

_log: Final = logging.getLogger(__name__)


class _State:
    """The present process's part."""

    def __init__(self) -> None:
        self.ledger: Final = Ledger()
        self.lock: Final = threading.Lock()
        self.thread: threading.Thread | None = None
        self._cleared = False

    def write(self, place: Path) -> None:
        """Write the figures down; the first time, into files that nobody else has left."""
        with self.lock:
            if not self._cleared:
                files.clear(place)
                self._cleared = True
        self.ledger.write(counted.read(SOURCES))


_state = _State()


def enrol(role: str) -> None:
    """Say what this process is, so that its memory and processor time are shown."""
    place = files.directory()
    if place is not None:
        files.enrol(place, role)


def start(role: str) -> None:
    """Write this process's figures down from now on; a second call does nothing."""
    state, place = _state, files.directory()
    if place is None:
        return
    with state.lock:
        if state.thread is not None:
            return
        files.enrol(place, role)
        with files.locked(place) as held:
            if held:
                files.bury(place)
        state.thread = threading.Thread(target=_live, name="metrics", daemon=True)
        state.thread.start()
    atexit.register(_write_last, state)


def write() -> None:
    """Write this process's figures down now."""
    place = files.directory()
    if place is not None:
        _state.write(place)


def read(place: Path) -> list[Metric]:
    """Add up what all processes have written down."""
    found = {one.name: one for one in _merge(place, "*.db")}
    oldest = found.pop(counted.OLDEST_CALL.full_name, None)
    return [*found.values(), *metrics([counted.LONGEST_CALL.of(_age(oldest))])]


def processes() -> list[Process]:
    """Return the node's processes on this machine."""
    place = files.directory()
    return [Process(ALONE, os.getpid())] if place is None else files.living(place)


def router() -> tuple[int, float]:
    """Return how many calls are not answered, and for how many seconds the oldest has been running.

    Over all processes of this node on this machine, as of the last second.
    """
    place = files.directory()
    if place is None:
        return SOURCES.router()
    write()
    found = {one.name: one for one in _merge(place, "gauge_live*.db")}
    waiting = _only(found.get(counted.CALLS_PROCESSING.full_name), 0.0)
    return int(waiting), _age(found.get(counted.OLDEST_CALL.full_name))


def _merge(place: Path, pattern: str) -> list[Metric]:
    """Return what the files of living processes say, and of dead ones what goes on counting."""
    with files.locked(place) as held:
        if held:
            files.bury(place)
        return files.merge(place.glob(pattern))


def _age(oldest: Metric | None) -> float:
    """Return for how long the oldest call has been running, by when it began.

    The process that runs it may be one that can write nothing down any more.
    """
    return max(0.0, time.monotonic() - _only(oldest, math.inf))


def _only(metric: Metric | None, missing: float) -> float:
    """Return the value of a metric without labels."""
    return metric.samples[0].value if metric is not None and metric.samples else missing


def _live() -> None:
    while True:
        time.sleep(INTERVAL)
        try:
            write()
        except Exception:  # whatever it is, the next second has another try
            _log.exception("figures could not be written down")


def _write_last(state: _State) -> None:
    if _state is state:
        write()


def _begin_anew(*_: Any) -> None:
    """Forget, in a process that was forked, what is its parent's; it starts its own thread."""
    global _state  # noqa: PLW0603  # one state for each process
    _state = _State()
    SOURCES.reset()


os.register_at_fork(after_in_child=_begin_anew)
