"""Reads of a database that has replicas: which of them may use one, and what ends its use."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from typing_extensions import override

from chaindb.database import Database
from chaindb.replicas import Replicas, ReplicatedDatabase, alias_on
from platform_app.models import Tx

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "second"])


class Second(Replicas):
    """One replica, the database `second`, that is never behind."""

    def __init__(self) -> None:
        super().__init__([("second", "db2:5432")])

    @staticmethod
    @override
    def _await_replay(db: ReplicatedDatabase, replica: Any) -> None:
        replica.reason = ""


@pytest.fixture
def db() -> Database:
    database = Database()
    database.replicas = Second()
    return database


def aliases(db: Database, read: Callable[[], object] = lambda: None) -> list[str]:
    """Return which databases a read uses before and after some work in it."""

    def both() -> list[str]:
        before = db.connection.alias
        read()
        return [before, db.connection.alias, db.objects(Tx).db]

    return db.on_replica(both)


def test_a_read_uses_the_replica_and_later_queries_do_not(db: Database) -> None:
    assert aliases(db) == ["second"] * 3
    assert db.connection.alias == "default"
    assert db.objects(Tx).db == "default"
    assert db.replicas is not None
    assert [state.reads for state in db.replicas.states()] == [1]


def test_a_transaction_reads_what_it_has_written(db: Database) -> None:
    with db.atomic():
        assert aliases(db) == ["default"] * 3


def test_a_write_in_a_read_ends_the_use_of_the_replica(db: Database) -> None:
    def write() -> None:
        with db.atomic():
            assert db.connection.alias == "default"

    assert aliases(db, write) == ["second", "default", "default"]
    assert aliases(db, lambda: db.execute("SELECT 1")) == ["second", "default", "default"]


async def test_the_event_loop_uses_no_replica(db: Database) -> None:
    assert db.on_replica(lambda: db._local.replica) is None


def test_a_failed_read_runs_again_on_the_database_itself(db: Database) -> None:
    def read() -> str:
        if db.connection.alias == "second":
            raise OperationalError("canceling statement due to conflict with recovery")
        return db.connection.alias

    assert db.on_replica(read) == "default"
    assert db.replicas is not None
    (state,) = db.replicas.states()
    assert (state.reason, state.reads) == ("a query failed with OperationalError", 0)
    assert aliases(db) == ["default"] * 3, "the replica is left out"


def test_other_errors_of_a_read_reach_the_caller(db: Database) -> None:
    def read() -> None:
        raise KeyError("unknown")

    with pytest.raises(KeyError, match="unknown"):
        db.on_replica(read)
    assert db.connection.alias == "default"


def test_the_alias_of_a_chains_database_on_a_replica() -> None:
    assert alias_on("default", "replica_1") == "replica_1"
    assert alias_on("evm_12", "replica_1") == "evm_12@replica_1"
    assert alias_on("evm_12", "default") == "evm_12"
