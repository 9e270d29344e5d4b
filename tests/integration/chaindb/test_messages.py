"""The number of messages that a transaction sends to PostgreSQL, their content, and the state after a failure."""

from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.db.transaction import TransactionManagementError

from cchain_app.models import TrieNode
from chaindb.database import Database
from chaindb.postgresql import base, session
from chaindb.postgresql.session import WatchedConnection
from tests.integration.waking import by_postgresql

COLUMNS = ("key", "rlp")
COUNT = "SELECT count(*) FROM cchain_app_trienode"

pytestmark = [by_postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    made.connection.ensure_connection()
    yield made
    made.connection.close()


@pytest.fixture
def referring(database: Database) -> Iterator[None]:
    """Temporary tables with a foreign key. The session, which other tests reuse from the pool, owns them."""
    database.execute("CREATE TEMP TABLE one (id int PRIMARY KEY)")
    database.execute(
        "CREATE TEMP TABLE other (id int REFERENCES one DEFERRABLE INITIALLY DEFERRED)"
    )
    yield
    database.execute("DROP TABLE other, one")


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return the number of waits for a response since the last call."""
    waits: list[None] = []
    original = session._while_alive

    def counted(gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        try:
            state = next(gen)
            while True:
                waits.append(None)
                state = gen.send((yield state))
        except StopIteration as done:
            return done.value

    monkeypatch.setattr(
        session, "_while_alive", lambda gen, *watched: original(counted(gen), *watched)
    )

    def since() -> int:
        count = len(waits)
        waits.clear()
        return count

    return since


def asked_elsewhere() -> int:
    """Return the number of rows visible to other sessions."""
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(COUNT)
            return int(cursor.fetchone()[0])
    finally:
        other.close()


def test_transaction_without_queries_is_one_message(
    database: Database, messages: Callable[[], int]
) -> None:
    seen: list[tuple[int, int]] = []
    messages()
    with database.atomic_together():
        transaction.on_commit(lambda: seen.append((messages(), asked_elsewhere())))
        database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
    assert seen == [(1, 1)]


def test_first_message_begins_and_last_message_commits(
    database: Database, messages: Callable[[], int]
) -> None:
    messages()
    with database.atomic_together():
        assert database.row(COUNT) == (0,)
        assert messages() == 1
        database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
        assert database.row(COUNT) == (1,)
        assert asked_elsewhere() == 0
        messages()
        database.insert(TrieNode, COLUMNS, [(b"l", b"v")])
    assert messages() == 1
    assert asked_elsewhere() == 2


class Undone(Exception):
    """Rolls back a transaction."""


def undo(database: Database, *steps: Callable[[], object]) -> None:
    """Run steps in a transaction that is rolled back."""
    with database.atomic_together():
        for step in steps:
            step()
        raise Undone


def test_queries_of_the_orm_are_in_the_transaction_whichever_is_first(database: Database) -> None:
    insert = partial(database.insert, TrieNode, COLUMNS, [(b"k", b"v")])
    create = partial(TrieNode.objects.create, key=b"l", rlp=b"v")
    for steps in ((insert, create), (create, insert)):
        with pytest.raises(Undone):
            undo(database, *steps)
        assert asked_elsewhere() == 0


@pytest.mark.parametrize("sql", ["SELECT 1/0", "no statement"])
def test_transaction_after_a_failed_first_message_works(database: Database, sql: str) -> None:
    insert = partial(database.insert, TrieNode, COLUMNS, [(b"k", b"v")])
    with pytest.raises(DatabaseError, match=r"zero|syntax"):
        undo(database, insert, lambda: database.row(sql))
    assert asked_elsewhere() == 0
    with pytest.raises(Undone), database.atomic():
        raise_behind(insert)
    assert asked_elsewhere() == 0


def raise_behind(step: Callable[[], object]) -> None:
    step()
    raise Undone


def test_continuing_after_a_failed_message_commits_nothing(database: Database) -> None:
    def go_on() -> None:
        with database.atomic_together():
            database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
            with pytest.raises(ProgrammingError):
                database.row("no statement")
            database.insert(TrieNode, COLUMNS, [(b"l", b"v")])
            database.row(COUNT)

    with pytest.raises(TransactionManagementError):
        go_on()
    assert asked_elsewhere() == 0


@pytest.mark.parametrize("sql", [COUNT, "no statement"])
def test_failed_savepoint_keeps_writes_before_and_after_it(database: Database, sql: str) -> None:
    def fail() -> None:
        with transaction.atomic():
            database.insert(TrieNode, COLUMNS, [(b"b", b"v"), (b"a", b"twice")])
            database.row(sql)
            raise Undone

    with database.atomic_together():
        database.insert(TrieNode, COLUMNS, [(b"a", b"v")])
        with pytest.raises((Undone, DatabaseError)):
            fail()
        with transaction.atomic():
            database.insert(TrieNode, COLUMNS, [(b"c", b"v")])
        database.insert(TrieNode, COLUMNS, [(b"d", b"v")])
    assert [bytes(key) for key in TrieNode.objects.order_by("key").values_list("key", flat=True)] == [
        b"a", b"c", b"d",
    ]  # fmt: skip


def test_writes_of_a_rolled_back_savepoint_are_not_sent(
    database: Database,
) -> None:
    def fail() -> None:
        with transaction.atomic():
            database.insert(TrieNode, COLUMNS, [(b"a", b"twice")])
            raise Undone

    with database.atomic_together():
        database.insert(TrieNode, COLUMNS, [(b"a", b"v")])
        with pytest.raises(Undone):
            fail()
    assert asked_elsewhere() == 1


def test_transaction_that_starts_with_a_query_commits_or_rolls_back(
    database: Database,
) -> None:
    insert = partial(database.insert, TrieNode, COLUMNS, [(b"k", b"v")])
    with database.atomic():
        database.answers([(COUNT, ())])
        insert()
        transaction.set_rollback(True)
    assert asked_elsewhere() == 0
    with database.atomic():
        database.answers([(COUNT, ())])
        insert()
        assert [bytes(node.key) for node in TrieNode.objects.iterator(chunk_size=1)] == [b"k"]
    assert asked_elsewhere() == 1


def test_connection_lost_at_commit_runs_no_on_commit_hook(
    database: Database,
) -> None:
    told: list[None] = []

    def write() -> None:
        with database.atomic_together():
            transaction.on_commit(lambda: told.append(None))
            database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
            database.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(OperationalError):
        write()
    connections.close_all()
    assert (asked_elsewhere(), told) == (0, [])
    with database.atomic_together():
        database.insert(TrieNode, COLUMNS, [(b"l", b"v")])
    assert asked_elsewhere() == 1


@pytest.mark.usefixtures("referring")
def test_deferred_constraint_violation_rolls_back(database: Database) -> None:
    committed: list[None] = []

    def write() -> None:
        with database.atomic_together():
            transaction.on_commit(lambda: committed.append(None))
            database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
            database.execute("INSERT INTO other VALUES (1)")

    with pytest.raises(IntegrityError):
        write()
    assert asked_elsewhere() == 0
    assert committed == []


def test_transaction_marked_for_rollback_sends_nothing(
    database: Database, messages: Callable[[], int]
) -> None:
    def fail() -> None:
        with transaction.atomic(savepoint=False):
            raise Undone

    messages()
    with database.atomic_together():
        database.insert(TrieNode, COLUMNS, [(b"k", b"v")])
        with pytest.raises(Undone):
            fail()
    assert messages() == 0
    assert asked_elsewhere() == 0


@pytest.fixture
def pool(database: Database) -> Iterator[Any]:
    """A pool with its one connection available: no thread of another test holds it."""
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]  # PostgreSQL's
    made: Any = connections["default"].pool  # type: ignore[attr-defined]
    made.open(wait=True)
    yield made
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]


@pytest.fixture
def ended(pool: Any) -> Iterator[None]:
    """Terminate the server's side of the only connection, after this thread returned it to the pool."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (process,) = cursor.fetchone()
    other = connections["default"].copy()
    with other.cursor() as cursor:
        connection.close()
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", [process])
        assert cursor.fetchone() == (True,)
    yield
    other.close()


@pytest.mark.usefixtures("ended")
def test_idle_closed_connection_is_checked_and_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "TRUSTED_SECONDS", 0.0)
    assert database.row(COUNT) == (0,)


def test_recently_used_connection_is_not_checked(
    database: Database, messages: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for trusted, needed in ((3600.0, 1), (0.0, 2)):
        monkeypatch.setattr(base, "TRUSTED_SECONDS", trusted)
        assert database.row(COUNT) == (0,)
        connection.close()
        messages()
        assert database.row(COUNT) == (0,)
        assert messages() == needed


@pytest.mark.usefixtures("ended")
def test_connection_closed_after_recent_use_fails_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "TRUSTED_SECONDS", 3600.0)
    with pytest.raises(OperationalError):
        database.row(COUNT)
    connection.close()
    assert database.row(COUNT) == (0,)


@pytest.mark.parametrize("error", [psycopg.InterfaceError, KeyboardInterrupt])
def test_connection_returns_to_the_pool_after_a_failed_check(
    database: Database, pool: Any, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    asked: list[None] = []

    def fail(_: WatchedConnection) -> None:
        if not asked:
            asked.append(None)
            raise error

    with monkeypatch.context() as patched:
        patched.setattr(base, "TRUSTED_SECONDS", 0.0)
        patched.setattr(pool, "check_connection", fail)
        with pytest.raises(error) if error is KeyboardInterrupt else nullcontext():
            database.row(COUNT)
        assert asked
    connection.close()
    stats = pool.get_stats()
    assert stats["pool_available"] == stats["pool_size"]
