"""Carries changes of checks to the database, whenever it takes them: no check waits for that.

While the database is away the latest changes are kept, and written when it is back. Whether it takes
writes at all is seen here too, and told by the checks of both chains (`writing`).
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

KEPT: Final = 1000
"""Changes that wait; the oldest is forgotten for the next one."""
RETRY: Final = 2.0
"""Seconds after which a write that failed is tried again."""

_log: Final = logging.getLogger(__name__)


class History:
    """A thread, begun when it is first needed, that writes changes in their order.

    Args:
        record: writes a change.
        touch: writes what means nothing, to see whether that is possible.
        writes: told of what the database refuses.
        retry: seconds after which a write that failed is tried again.
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
        self._asked = threading.Event()
        self._waiting: deque[tuple[str, CheckResult]] = deque(maxlen=KEPT)
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, name: str, result: CheckResult) -> None:
        """Have a change written; returns at once."""
        self._waiting.append((name, result))
        self._wake()

    def probe(self) -> None:
        """Have it seen whether the database takes writes; returns at once."""
        self._asked.set()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._live, name="health-history", daemon=True
                )
                self._thread.start()

    def _live(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            try:
                self._work_off()
            except (
                Exception
            ):  # of a connection that cannot be let go of, say; what comes next can be written
                _log.exception("the health history goes on")

    def _work_off(self) -> None:
        while self._waiting:
            self._write(*self._waiting.popleft())
        if self._asked.is_set():
            self._asked.clear()
            self._try()
        release()

    def _try(self) -> None:
        """Write what means nothing. What does not answer is told by the checks that ask it."""
        try:
            self._touch()
        except DatabaseError as error:
            self._writes.failed(error)
        except Exception:  # whatever it is, changes can be written
            _log.exception("it could not be seen whether the database takes writes")

    def _write(self, name: str, result: CheckResult) -> None:
        """Write a change, as often as it takes."""
        for attempt in itertools.count():
            try:
                self._record(name, result)
            except DatabaseError as error:
                self._writes.failed(error)
                if attempt == 0:
                    _log.warning("the health history cannot be written now: %s", error)
                connections.close_all()
                time.sleep(self._retry)
            except Exception:  # no time will mend it, and the next change can be written
                _log.exception("a change of check %s was not written", name)
                return
            else:
                return
