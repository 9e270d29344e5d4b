"""Read replicas of the PostgreSQL server: which of them may answer a read, and which are left out, and why.

A replica may answer if it has replayed everything that the node's own server had on disk when the read began. So an
answer from a replica is never behind an answer that any process of the node has given before. A replica that lags, fails
or is no replica is left out for a while, and the node's own server answers instead.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from django.db import DEFAULT_DB_ALIAS, Error, connections

from chaindb.servers import away

T = TypeVar("T")

ALIAS: Final = "replica_"
"""Start of the aliases of replicas in DATABASES."""

WAIT_SECONDS: Final = 0.05
"""How long a read waits for a replica to catch up. Streaming usually takes a few milliseconds."""
POLL_SECONDS: Final = 0.005
LEFT_OUT_SECONDS: Final = 1.0
"""How long a replica is left out after a failure or a wait in vain, so that only few reads lose time to it."""

_WRITTEN: Final = "SELECT pg_current_wal_flush_lsn()::text"
_REPLAYED: Final = (
    "SELECT pg_is_in_recovery(), "
    "CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()) END"
)
_NO_REPLICA: Final = "it is not a replica: it takes writes"


class ReplicaState(NamedTuple):
    """A replica as this process sees it."""

    address: str
    """Host and port, without user and password."""
    reason: str
    """Why it is left out; empty if it is in use."""
    behind: int | None
    """Bytes of the log that it had not replayed when it was last asked; None if it has not answered."""
    reads: int
    """The number of reads that it has answered."""


class ReplicatedDatabase(Protocol):
    """What replicas need of a `chaindb.database.Database`."""

    alias: str

    def row(self, sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query on the server itself."""

    def reading_from(self, alias: str) -> AbstractContextManager[None]:
        """Let this thread's queries in the body go to a replica."""


class ReplicaBehind(Exception):
    """A replica has not replayed the log that the primary had on disk."""


@dataclass(slots=True)
class _Replica:
    alias: str
    address: str
    reason: str = ""
    left_out_until: float = 0.0
    behind: int | None = None
    reads: int = 0

    def leave_out(self, reason: str) -> None:
        self.reason = reason
        self.left_out_until = time.monotonic() + LEFT_OUT_SECONDS


class Replicas:
    """The replicas of a node's server. Threads share the object.

    Args:
        addresses: The address of each replica by its alias of `DATABASES`.
    """

    def __init__(self, addresses: Sequence[tuple[str, str]]) -> None:
        self._replicas = [_Replica(alias, address) for alias, address in addresses]
        self._next = 0
        self._lock = threading.Lock()

    def states(self) -> list[ReplicaState]:
        """Return the state of each replica."""
        return [
            ReplicaState(item.address, item.reason, item.behind, item.reads)
            for item in self._replicas
        ]

    def check(self, db: ReplicatedDatabase) -> None:
        """Ask each replica how far behind it is, and note which ones cannot be used. Part of the health check."""
        for replica in self._replicas:
            try:
                self._await_replay(db, replica)
            except (Error, ReplicaBehind) as error:
                replica.leave_out(_reason(error))

    def run(self, db: ReplicatedDatabase, read: Callable[[], T]) -> T:
        """Run a read of a database on an up-to-date replica; on the primary if every replica is left out or the read fails.

        Args:
            db: The database. Its queries of this thread go to the replica meanwhile.
            read: Reads only. It may run twice.
        """
        replica = self._choose()
        if replica is None:
            return read()
        try:
            self._await_replay(db, replica)
            with db.reading_from(alias_on(db.alias, replica.alias)):
                result = read()
        except (Error, ReplicaBehind) as error:
            replica.leave_out(_reason(error))
            return read()
        with self._lock:
            replica.reads += 1
        return result

    def _choose(self) -> _Replica | None:
        """Return the next replica in turn that is not left out."""
        now = time.monotonic()
        with self._lock:
            for step in range(len(self._replicas)):
                replica = self._replicas[(self._next + step) % len(self._replicas)]
                if replica.left_out_until <= now:
                    self._next = (self._next + step + 1) % len(self._replicas)
                    return replica
        return None

    @staticmethod
    def _await_replay(db: ReplicatedDatabase, replica: _Replica) -> None:
        """Wait until a replica has replayed the log that the primary has on disk now.

        Raises:
            ReplicaBehind: It has not after `WAIT_SECONDS`, or it is no replica.
            Error: One of the servers does not answer.
        """
        row = db.row(_WRITTEN)
        assert row is not None
        until = time.monotonic() + WAIT_SECONDS
        while True:
            with connections[replica.alias].cursor() as cursor:
                cursor.execute(_REPLAYED, row)
                is_replica, behind = cursor.fetchone()
            if not is_replica:
                raise ReplicaBehind(_NO_REPLICA)
            replica.behind = max(0, int(behind))
            if not replica.behind:
                replica.reason = ""
                return
            if time.monotonic() >= until:
                raise ReplicaBehind(f"it is {replica.behind:,} bytes of the log behind")
            time.sleep(POLL_SECONDS)


def known_replicas() -> Replicas | None:
    """Return the replicas of this process's settings; None if there are none."""
    aliases = replica_aliases()
    if not aliases:
        return None
    from chaindb.postgresql.session import address  # SQLite needs no PostgreSQL driver

    return Replicas([(alias, address(connections.settings[alias])) for alias in aliases])


def replica_aliases() -> list[str]:
    """Return the aliases of the replicas in the settings, in their order."""
    return [alias for alias in connections.settings if alias.startswith(ALIAS)]


def alias_on(database: str, server: str) -> str:
    """Return the alias of a database on a server, each by its own alias."""
    if server == DEFAULT_DB_ALIAS:
        return database
    return server if database == DEFAULT_DB_ALIAS else f"{database}@{server}"


def _reason(error: BaseException) -> str:
    """Return a line without secrets about a failure."""
    if isinstance(error, ReplicaBehind):
        return str(error)
    if outage := away(error):
        return outage
    code = getattr(error.__cause__, "sqlstate", None)
    return f"a query failed with {type(error).__name__}" + (f" ({code})" if code else "")
