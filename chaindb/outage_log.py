"""Keeps the log of an outage to a line at each end: what fails in between is counted, not written."""

import logging
import threading
from collections.abc import Iterator

from django.db import OperationalError
from typing_extensions import override

from chaindb.connections import on_event_loop
from chaindb.servers import Server, away

_DEPTH = 8
"""So many causes of an exception are looked at."""


class OutageFilter(logging.Filter):
    """Drops the records of failures that a server is to blame for which is away (`chaindb.servers`)."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return not any(_is_blamed(error) for error in _errors(record))


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
