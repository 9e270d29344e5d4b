"""All figures that rows hold, read at once in a thread, within a time: monitoring must not hang.

Each part is read on its own, so that what one cannot say does not hide the others.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Final

from django.db import connections
from django.db.utils import InterfaceError, OperationalError

from health_app.metrics import chains, database, network
from health_app.metrics.figures import Family, Figure

SECONDS: Final = 4.0
"""So long the database is waited for; Prometheus gives up after ten by default."""

Part = tuple[str, Callable[[], Iterator[Figure]]]

PARTS: Final[tuple[Part, ...]] = (
    ("cchain", chains.of_cchain),
    ("platform", chains.of_platform),
    ("network", network.of_network),
    ("bootstrap", network.of_bootstrap),
    ("database", database.of_database),
)

_SUCCESS: Final = Family("scrape_success", "Whether a part could be read.", labels=("part",))
_DURATION: Final = Family(
    "scrape_duration_seconds", "Time that reading a part took.", labels=("part",)
)

_AWAY: Final = (OperationalError, InterfaceError)
"""What Django says when the database does not answer."""

_failing: Final[set[str]] = set()
"""Parts that could not be read the last time: the log tells each change, not each scrape."""

_log: Final = logging.getLogger(__name__)


def read(parts: Sequence[Part] = PARTS) -> list[Figure]:
    """Read all parts here and now; nothing more is asked of a database that does not answer."""
    found: list[Figure] = []
    up = True
    for name, part in parts:
        began = time.monotonic()
        error: Exception | None = None
        if up:
            try:
                found += list(part())
            except Exception as failure:  # whatever it is, the other parts are shown
                error = failure
            _tell(name, error)
        up = up and not isinstance(error, _AWAY)
        found.append(_SUCCESS.of(up and error is None, name))
        found.append(_DURATION.of(time.monotonic() - began, name))
    return [*found, database.UP.of(up)]


def _tell(name: str, error: Exception | None) -> None:
    """Log that a part cannot be read, when that is news."""
    if error is None:
        _failing.discard(name)
    elif name not in _failing:
        _failing.add(name)
        trace = None if isinstance(error, _AWAY) else error
        _log.warning("metrics: no figures of %s: %s", name, error, exc_info=trace)


class Reader:
    """Reads in a thread of its own. A reading that hangs is waited for by whoever asks next, too."""

    def __init__(self, read: Callable[[], list[Figure]] = read, seconds: float = SECONDS) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = threading.Lock()
        self._reading: Future[list[Figure]] | None = None

    def figures(self) -> list[Figure]:
        """Return what is read anew, or that the database is away when that takes too long."""
        with self._lock:
            if self._reading is None:
                self._reading = Future()
                thread = threading.Thread(
                    target=self._work, args=(self._reading,), name="metrics-rows", daemon=True
                )
                thread.start()
            reading = self._reading
        try:
            return reading.result(self._seconds)
        except TimeoutError:
            return [database.UP.of(0)]

    def _work(self, reading: "Future[list[Figure]]") -> None:
        try:
            found = self._read()
        finally:
            connections.close_all()
            with self._lock:
                self._reading = None
        reading.set_result(found)
