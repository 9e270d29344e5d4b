"""Records changes of checks in the database, in the background: no check waits for a write.

While the database is away, the latest changes are kept in memory and written when it is back. This module also
tests whether the database accepts writes; the checks of all chains report the outcome (`writing`).
"""

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from django.db import Error as DatabaseError
from django.db import connections

from chaindb.connections import release
from health_app.result import CheckResult
from health_app.writing import Writes

MAX_PENDING: Final = 1000
"""Limit of changes that wait to be written; beyond it the oldest one is dropped."""
RETRY: Final = 2.0
"""Seconds until a failed write is retried."""

_log: Final = logging.getLogger(__name__)


class HistoryWriter:
    """A thread, started on first use, that writes changes in order.

    Args:
        record: Writes a change.
        touch: Writes a value without meaning, to test whether the database accepts writes.
        writes: Collects the errors of writes that the database rejects.
        retry: Seconds until a failed write is retried.
    """

    def __init__(
        self,
        record: Callable[[str, CheckResult], object],
        touch: Callable[[], object],
        *,
        writes: Writes,
        retry: float = RETRY,
    ) -> None:
        self._record = record
        self._touch = touch
        self._writes = writes
        self._retry = retry
        self._probe_requested = threading.Event()
        self._pending: deque[tuple[str, CheckResult]] = deque(maxlen=MAX_PENDING)
        self._wake_event = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, name: str, result: CheckResult) -> None:
        """Queue a change to be written, without waiting."""
        self._pending.append((name, result))
        self._wake()

    def probe(self) -> None:
        """Request a test whether the database accepts writes, without waiting."""
        self._probe_requested.set()
        self._wake()

    def _wake(self) -> None:
        self._wake_event.set()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="health-history", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._wake_event.wait()
            self._wake_event.clear()
            try:
                self._write_pending()
            except (
                Exception
            ):  # for example a connection that cannot be closed; later changes can still be written
                _log.exception("an error in the health history, which continues")

    def _write_pending(self) -> None:
        while self._pending:
            self._write(*self._pending.popleft())
        if self._probe_requested.is_set():
            self._probe_requested.clear()
            self._try()
        release()

    def _try(self) -> None:
        """Test a write. If the database does not answer at all, the checks that query it report that."""
        try:
            self._touch()
        except DatabaseError as error:
            self._writes.failed(error)
        except Exception:  # after any failure changes can still be written
            _log.exception("testing whether the database accepts writes failed")

    def _write(self, name: str, result: CheckResult) -> None:
        """Write a change, and retry until it succeeds."""
        for attempt in itertools.count():
            try:
                self._record(name, result)
            except DatabaseError as error:
                self._writes.failed(error)
                if attempt == 0:
                    _log.warning("the health history cannot be written now: %s", error)
                connections.close_all()
                time.sleep(self._retry)
            except Exception:  # a retry would not help, and later changes can still be written
                _log.exception("a change of check %s was not written", name)
                return
            else:
                return
