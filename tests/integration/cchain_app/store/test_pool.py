"""The rows of the pool are read only once each, and the entries equal the rows."""

import random
from dataclasses import dataclass, field

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app import models
from cchain_app.memory import PoolMemory
from cchain_app.pool.entry import Newcomer, PoolEntry
from cchain_app.store import pool
from chaindb.database import Database
from tests.builders.transactions import signed

DB = Database()


@dataclass
class Read:
    """The result of reading the pool, with the SQL statements it took."""

    entries: list[PoolEntry]
    statements: list[str] = field(default_factory=list)


def read(memory: PoolMemory) -> Read:
    with CaptureQueriesContext(connection) as captured:
        entries = pool.entries(DB, memory)
    return Read(entries, [captured_query["sql"] for captured_query in captured.captured_queries])


def add(*nonces: int) -> None:
    pool.add(DB, [Newcomer(signed(nonce=nonce), ()) for nonce in nonces], received_at=1_000)


def nonces(entries: list[PoolEntry]) -> list[int]:
    return [entry.nonce for entry in entries]


@pytest.fixture
def memory() -> PoolMemory:
    return PoolMemory(senders=10)


def test_a_row_is_read_once(db, memory):
    add(3, 1, 2)
    first, second = read(memory), read(memory)
    assert nonces(first.entries) == [3, 1, 2]
    assert second.entries == first.entries
    assert (len(first.statements), len(second.statements)) == (1, 1)
    assert all(one is other for one, other in zip(first.entries, second.entries, strict=True))


def test_only_new_pool_rows_are_read(db, memory):
    add(1, 2, 3)
    read(memory)
    pool.remove(DB, [signed(nonce=2).hash])
    add(4)
    again = read(memory)
    assert nonces(again.entries) == [1, 3, 4]
    assert len(again.statements) == 1
    assert again.entries == read(PoolMemory(senders=10)).entries
    assert len(memory.entries) == 3


def test_empty_pool_takes_one_statement(db, memory):
    add(1)
    read(memory)
    models.PoolTransaction.objects.all().delete()
    empty = read(memory)
    assert (empty.entries, len(empty.statements), memory.entries) == ([], 1, {})


def test_every_change_of_the_pool_is_read(db, memory):
    chance = random.Random(7)
    waiting: set[int] = set()
    for _ in range(60):
        coming = chance.sample(sorted(set(range(80)) - waiting), chance.randrange(12))
        going = chance.sample(sorted(waiting), chance.randrange(len(waiting) + 1))
        add(*coming)
        pool.remove(DB, [signed(nonce=nonce).hash for nonce in going])
        waiting = (waiting | set(coming)) - set(going)
        found = pool.entries(DB, memory)
        assert found == pool.entries(DB, PoolMemory(senders=10))
        assert set(nonces(found)) == waiting
        assert [item.arrival for item in found] == sorted(other.arrival for other in found)


def test_row_committed_after_higher_ids_is_read(db, memory):
    add(1, 2, 3)
    row = models.PoolTransaction.objects.get(nonce=2)
    key = row.pk
    row.delete()
    read(memory)
    row.pk = key
    row.save(force_insert=True)
    late = read(memory)
    assert nonces(late.entries) == [1, 2, 3]
    assert len(late.statements) == 2
    assert late.entries == read(PoolMemory(senders=10)).entries
