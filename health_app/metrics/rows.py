"""All metrics from the database, read together in a thread with a timeout, because monitoring must not hang.

Each part is read separately, so that a part that fails does not hide the others.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Final

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.utils import InterfaceError, OperationalError
from prometheus_client.core import Metric

from cchain_app.chain import EvmChain
from chaindb.database import Database
from health_app.metrics import chains, consensus, network
from health_app.metrics.instruments import gauge

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
    """Metrics of the database itself: size, connections, missing migrations."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._migrations: frozenset[tuple[str, str]] = frozenset()

    def __call__(self) -> Iterator[Metric]:
        """Yield the metrics. A squashed migration counts as the migrations that it replaces."""
        self._migrations = self._migrations or frozenset(MigrationLoader(None).disk_migrations)
        applied = {(app, name) for app, name in self._db.rows(_APPLIED)}
        yield gauge("database_migrations_unapplied", len(self._migrations - applied))
        connection = self._db.connection
        if connection.vendor == "postgresql":
            ((size,),) = self._db.rows(_SIZE_OF_POSTGRESQL)
            yield gauge("database_size_bytes", size, part="database")
            for state, number in self._db.rows(_STATES):
                yield gauge("database_server_connections", number, state=state)
            return
        place = str(connection.settings_dict["NAME"])
        for part, ending in (("database", ""), ("log", "-wal")):
            path = Path(place + ending)
            size = path.stat().st_size if path.exists() else 0
            yield gauge("database_size_bytes", size, part=part)


def parts(further: Iterable[EvmChain] = ()) -> tuple[Part, ...]:
    """Return all parts, in the order in which they are read.

    Args:
        further: The EVM chains besides the C-Chain; each is a part by its name.
    """
    return (
        ("cchain", chains.of_cchain),
        *((item.name, partial(chains.of_evm, item)) for item in further),
        ("platform", chains.of_platform),
        ("network", network.of_network),
        ("bootstrap", network.of_bootstrap),
        ("consensus", consensus.of_consensus),
        ("database", DatabasePart(Database())),
    )


class RowCounts:
    """Reads the parts in a separate thread. If a read hangs, later requests wait for the same read."""

    def __init__(self, parts: Sequence[Part], seconds: float = SECONDS) -> None:
        self._parts = parts
        self._seconds = seconds
        self._lock = threading.Lock()
        self._reading: Future[list[Metric]] | None = None
        self._failing: set[str] = set()
        """Parts that failed the last time: the log reports each change, not each scrape."""

    def metrics(self) -> list[Metric]:
        """Return newly read metrics; after the timeout only `database_up` with 0."""
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
                self._tell(name, error)
            up = up and not isinstance(error, _AWAY)
            metrics.append(gauge("scrape_success", up and error is None, part=name))
            metrics.append(gauge("scrape_duration_seconds", time.monotonic() - began, part=name))
        return [*metrics, gauge("database_up", up)]

    def _tell(self, name: str, error: Exception | None) -> None:
        """Log that a part cannot be read, if it could be read before."""
        if error is None:
            self._failing.discard(name)
        elif name not in self._failing:
            self._failing.add(name)
            trace = None if isinstance(error, _AWAY) else error
            _log.warning("metrics: no figures of %s: %s", name, error, exc_info=trace)

    def _work(self, reading: "Future[list[Metric]]") -> None:
        try:
            column_list = self.read()
        finally:
            connections.close_all()
            with self._lock:
                self._reading = None
        reading.set_result(column_list)
