"""Log filters that keep repeated failures with one cause from flooding the log.

An outage of a server is logged once at its start and once at its end; failures in between are
counted, not logged. A database that is busy or rejects writes is logged once a minute, without a
traceback.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

from django.db import OperationalError
from typing_extensions import override

from chaindb.connections import on_event_loop
from chaindb.servers import WatchedServer, away
from chaindb.unavailable import unavailable
from primitives.counting import counted

SILENCE_SECONDS: Final = 60.0
"""Seconds between two log lines about the same reason."""

_DEPTH = 8
"""Number of causes of an exception that are examined."""


class OutageFilter(logging.Filter):
    """Drops records of failures that are caused by a server outage (`chaindb.servers`)."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return not any(_is_caused_by_outage(error) for error in _errors(record))


class UnavailableFilter(logging.Filter):
    """Passes one record a minute for each reason of `chaindb.unavailable`, without its traceback.

    Args:
        clock: Returns seconds since any fixed time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}
        """When a record last passed, by reason."""
        self._dropped: dict[str, int] = {}
        """Number of records dropped since then."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        reasons = (reason for error in _errors(record) if (reason := unavailable(error)))
        reason = next(reasons, "")
        if getattr(record, "status_code", None) == HTTPStatus.SERVICE_UNAVAILABLE:
            reason = (
                reason or "the request was refused"
            )  # Django logs a line for each such response
        if not reason:
            return True
        now = self._clock()
        with self._lock:
            if now - self._written.get(reason, -math.inf) < SILENCE_SECONDS:
                self._dropped[reason] = self._dropped.get(reason, 0) + 1
                return False
            self._written[reason] = now
            dropped = self._dropped.pop(reason, 0)
        more = (
            f" (and {counted(dropped, 'failure')} since the last such message)" if dropped else ""
        )
        # No other handler needs the original record, because the node has only one.
        record.msg, record.args = "%s: %s%s", (record.getMessage(), reason, more)
        record.exc_info = record.exc_text = None
        return True


def _errors(record: logging.LogRecord) -> Iterator[BaseException]:
    """Yield the exceptions of a record: its traceback's, and those among its arguments."""
    if record.exc_info and record.exc_info[1] is not None:
        yield record.exc_info[1]
    args = record.args.values() if isinstance(record.args, dict) else record.args or ()
    yield from (arg for arg in args if isinstance(arg, BaseException))


def _is_caused_by_outage(error: BaseException) -> bool:
    if away(error):
        return True  # the code that raised it has counted it
    server = _server(error)
    if server is None:
        return False
    if server.failed():
        return True
    if (
        on_event_loop()
    ):  # must not wait there: pass this record, and the server check covers later ones
        threading.Thread(target=server.suspect, args=[error], daemon=True).start()
        return False
    return bool(server.suspect(error))


def _server(error: BaseException | None) -> WatchedServer | None:
    """Return the server whose outage may have caused an exception."""
    import psycopg

    from chaindb.postgresql import session
    from chaindb.redis_cache import LOST
    from chaindb.redis_cache import server as redis

    for _ in range(_DEPTH):
        if isinstance(error, psycopg.OperationalError | OperationalError):
            return session.server()
        if isinstance(error, LOST):
            return redis()
        if error is None:
            break
        error = error.__cause__ or error.__context__
    return None
