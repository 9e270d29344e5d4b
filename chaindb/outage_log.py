"""Filters that keep failures which repeat for one cause from flooding the log.

An outage of a server has a line at each end: failures in between are counted, not written. A database that is busy or
takes no writes has one line a minute, without a traceback.
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
from chaindb.servers import Server, away
from chaindb.unavailable import unavailable

SILENCE_SECONDS: Final = 60.0
"""Seconds between two lines about the same reason."""

_DEPTH = 8
"""So many causes of an exception are looked at."""


class OutageFilter(logging.Filter):
    """Drops the records of failures that a server is to blame for which is away (`chaindb.servers`)."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return not any(_is_blamed(error) for error in _errors(record))


class UnavailableFilter(logging.Filter):
    """Lets a record pass once a minute for each reason of `chaindb.unavailable`, without its traceback.

    Args:
        clock: Seconds from some moment on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}
        """When a record passed last, by reason."""
        self._dropped: dict[str, int] = {}
        """How many were dropped since then."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        reasons = (words for error in _errors(record) if (words := unavailable(error)))
        reason = next(reasons, "")
        if getattr(record, "status_code", None) == HTTPStatus.SERVICE_UNAVAILABLE:
            reason = reason or "the request was refused"  # Django has a line for each such answer
        if not reason:
            return True
        now = self._clock()
        with self._lock:
            if now - self._written.get(reason, -math.inf) < SILENCE_SECONDS:
                self._dropped[reason] = self._dropped.get(reason, 0) + 1
                return False
            self._written[reason] = now
            dropped = self._dropped.pop(reason, 0)
        more = f" ({dropped} more failures since the last such line)" if dropped else ""
        # No handler shows the record in another form: the node has one.
        record.msg, record.args = "%s: %s%s", (record.getMessage(), reason, more)
        record.exc_info = record.exc_text = None
        return True


def _errors(record: logging.LogRecord) -> Iterator[BaseException]:
    """Walk the exceptions that a record tells of, with their trace or in its words."""
    if record.exc_info and record.exc_info[1] is not None:
        yield record.exc_info[1]
    args = record.args.values() if isinstance(record.args, dict) else record.args or ()
    yield from (one for one in args if isinstance(one, BaseException))


def _is_blamed(error: BaseException) -> bool:
    if away(error):
        return True  # whoever raised it has counted it
    server = _server(error)
    if server is None:
        return False
    if server.failed():
        return True
    if on_event_loop():  # nothing may wait there: this one is written, and the next ones are known
        threading.Thread(target=server.suspect, args=[error], daemon=True).start()
        return False
    return bool(server.suspect(error))


def _server(error: BaseException | None) -> Server | None:
    """Return the server whose loss an exception may be."""
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
