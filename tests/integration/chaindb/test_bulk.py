"""Bulk writes, batched statements and prefetched results, on either database."""

import threading
from collections.abc import Sequence

import pytest
from django.db import DataError, IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from cchain_app.models import AccountChange, PoolTransaction, TrieNode
from chaindb.bulk import Row
from chaindb.database import Database
from chaindb.locks import Lock
from network_app.models import Certificate
from primitives.evm import Address, Hash

_CHANGE = ("id", "address", "number", "nonce", "balance", "code_hash")
_COUNT = "SELECT count(*) FROM cchain_app_trienode"
LARGEST = 2**256 - 1

in_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no messages"
)


@pytest.fixture
def database(db: None) -> Database:
    return Database()


def nodes(count: int, value: bytes = b"v") -> list[Row]:
    return [(place.to_bytes(4, "big"), value) for place in range(count)]


def all_nodes() -> list[tuple[bytes, bytes]]:
    return [(bytes(key), bytes(rlp)) for key, rlp in TrieNode.objects.order_by("key").values_list()]


@pytest.mark.parametrize("is_together", [False, True])
@pytest.mark.parametrize("times", [1, 40])
def test_values_of_all_types_round_trip(
    database: Database, times: int, *, is_together: bool
) -> None:
    kinds = [
        (Address(b"\x01" * 20), 2**64 - 1, LARGEST, Hash(bytes(32))),
        (b"\x02" * 20, None, None, None),
        (memoryview(b"\x03" * 20), 0, 0, b"\xff" * 32),
    ]
    rows = [
        (place, address, place // 3, *values)
        for place, (address, *values) in enumerate(kinds * times)
    ]
    with database.atomic_together() if is_together else database.atomic():
        database.insert(AccountChange, _CHANGE, rows)
    found = AccountChange.objects.order_by("id").values_list(*_CHANGE[1:])
    assert [tuple(row) for row in found] == [tuple(row[1:]) for row in rows]


@pytest.mark.parametrize("is_together", [False, True])
@pytest.mark.parametrize("count", [0, 1, 49, 51, 2_500])
def test_any_number_of_rows_is_written_changed_and_deleted(
    database: Database, count: int, *, is_together: bool
) -> None:
    def do() -> None:
        database.insert(TrieNode, ("key", "rlp"), iter(nodes(count)))
        database.upsert(TrieNode, ("key", "rlp"), iter(nodes(count + 1, b"w")))
        database.update(TrieNode, ("key",), ("rlp",), ((b"x", key) for key, _ in nodes(count // 2)))
        database.delete(TrieNode, ("key",), ((key,) for key, _ in nodes(count // 3)))

    with database.atomic_together() if is_together else database.atomic():
        do()
    half, third = count // 2, count // 3
    assert all_nodes() == [*nodes(half, b"x")[third:], *nodes(count + 1, b"w")[half:]]


@pytest.mark.skipif(
    connection.vendor != "sqlite",
    reason="only SQLite's rows are packed; PostgreSQL's statement takes a list for each column",
)
@pytest.mark.parametrize("verb", ["insert", "upsert"])
@pytest.mark.parametrize(("count", "packed"), [(49, 0), (50, 1), (2_500, 3)])
def test_many_rows_take_one_statement_on_sqlite(
    database: Database, verb: str, count: int, packed: int
) -> None:
    with CaptureQueriesContext(connection) as captured:
        getattr(database, verb)(TrieNode, ("key", "rlp"), nodes(count))
    written = [query["sql"] for query in captured if "INSERT" in query["sql"]]
    assert sum("WITH RECURSIVE" in sql for sql in written) == packed
    assert len(written) == max(1, packed)
    assert len(all_nodes()) == count


def test_last_of_several_rows_with_one_key_is_stored(database: Database) -> None:
    database.upsert(TrieNode, ("key", "rlp"), [(b"k", b"1"), (b"l", b"2"), (b"k", b"3")])
    assert all_nodes() == [(b"k", b"3"), (b"l", b"2")]
    database.update(TrieNode, ("key",), ("rlp",), [(b"4", b"k"), (b"5", b"k"), (b"6", b"m")])
    assert all_nodes() == [(b"k", b"5"), (b"l", b"2")]


def test_rows_are_deleted_by_composite_key(database: Database) -> None:
    columns = ("hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas",
               "value", "size", "received_at", "authorities", "raw", "blobs", "max_fee_per_blob_gas")  # fmt: skip
    senders = [b"\x01" * 20, b"\x02" * 20]
    rows = [
        (bytes([place]) * 32, sender, nonce, 21_000, 1, 1, 0, 1, 0, None, b"", 0, 0)
        for place, (sender, nonce) in enumerate((who, n) for who in senders for n in (1, 2))
    ]
    database.insert(PoolTransaction, columns, rows)
    ids = PoolTransaction.objects.order_by("id").values_list("hash", flat=True)
    assert [bytes(row_id) for row_id in ids] == [
        row[0] for row in rows
    ]  # numbered in insertion order

    database.delete(PoolTransaction, ("sender", "nonce"), [(senders[0], 1), (senders[1], 2)])
    left = PoolTransaction.objects.order_by("id").values_list("sender", "nonce")
    assert [(bytes(sender), nonce) for sender, nonce in left] == [(senders[0], 2), (senders[1], 1)]


@in_postgresql
def test_batched_writes_are_one_message(database: Database) -> None:
    with CaptureQueriesContext(connection) as captured, database.atomic_together():
        begun = len(captured)
        database.insert(TrieNode, ("key", "rlp"), nodes(3))
        database.execute("UPDATE cchain_app_trienode SET rlp = %s", (b"u",))
        assert len(captured) == begun
        assert database.row(_COUNT) == (3,)  # in one message with the pending statements
        assert len(captured) == begun + 1
        database.delete(TrieNode, ("key",), [(nodes(1)[0][0],)])
        assert len(captured) == begun + 1
    assert all_nodes() == nodes(3, b"u")[1:]


@pytest.mark.parametrize("count", [2, 60])
def test_orm_queries_run_after_batched_writes(database: Database, count: int) -> None:
    with database.atomic_together():
        database.insert(TrieNode, ("key", "rlp"), nodes(count))
        assert TrieNode.objects.count() == count
        with database.connection.cursor() as cursor:
            database.delete(TrieNode, ("key",), [(nodes(1)[0][0],)])
            cursor.execute(_COUNT)
            assert cursor.fetchone() == (count - 1,)
        database.execute("DELETE FROM cchain_app_trienode")
        TrieNode.objects.create(key=b"last", rlp=b"")
    assert all_nodes() == [(b"last", b"")]


@in_postgresql
def test_requested_lock_is_taken_before_the_first_read(database: Database) -> None:
    with database.atomic_together():
        database.acquire(Lock.CCHAIN)
        assert database.row("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == (1,)


def test_an_error_in_a_message_undoes_all(database: Database) -> None:
    def twice() -> None:
        with database.atomic_together():
            database.insert(TrieNode, ("key", "rlp"), nodes(2))
            database.insert(TrieNode, ("key", "rlp"), nodes(1))

    with pytest.raises(IntegrityError):
        twice()
    assert all_nodes() == []
    database.insert(TrieNode, ("key", "rlp"), nodes(1))  # nothing is pending any longer
    assert all_nodes() == nodes(1)


def test_failed_transaction_sends_no_batched_writes(database: Database) -> None:
    def fail() -> None:
        with database.atomic_together():
            database.insert(TrieNode, ("key", "rlp"), nodes(2))
            raise ZeroDivisionError

    with CaptureQueriesContext(connection) as captured, pytest.raises(ZeroDivisionError):
        fail()
    assert all_nodes() == []
    if connection.vendor == "postgresql":
        assert not [query for query in captured if "INSERT" in query["sql"]]


@pytest.mark.parametrize("is_together", [False, True])
@in_postgresql
def test_overlong_value_is_refused(database: Database, *, is_together: bool) -> None:
    row = (b"\x01" * 20, "n" * 1_000, b"")

    def write() -> None:
        with database.atomic_together() if is_together else database.atomic():
            database.upsert(Certificate, ("node_id", "node", "der"), [row])

    with pytest.raises(DataError, match="too long"):
        write()


def test_results_are_in_the_order_of_the_queries(database: Database) -> None:
    database.insert(TrieNode, ("key", "rlp"), nodes(2))
    by_key = "SELECT rlp FROM cchain_app_trienode WHERE key = %s"
    asked = [(_COUNT, ()), (by_key, (b"none",)), (by_key, (nodes(1)[0][0],))]
    first, second, third = database.answers(asked)
    assert (first, second, [bytes(rlp) for (rlp,) in third]) == ([(2,)], [], [b"v"])
    assert database.answers([]) == []


def test_prefetched_result_serves_one_query_of_its_thread(database: Database) -> None:
    with database.read_ahead([(_COUNT, ())]):
        _insert_in_another_way(nodes(1))
        seen: list[object] = []
        other = threading.Thread(target=lambda: seen.append(database._prefetched(_COUNT, ())))
        other.start()
        other.join()
        first, second = database.rows(_COUNT), database.rows(_COUNT)
    assert seen == [None]
    assert first == ([(0,)] if connection.vendor == "postgresql" else [(1,)])
    assert second == [(1,)]


def test_prefetched_results_are_discarded_after_a_write_or_the_end(database: Database) -> None:
    with database.read_ahead([(_COUNT, ())]):
        database.insert(TrieNode, ("key", "rlp"), nodes(1))
        assert database.row(_COUNT) == (1,)
    with database.atomic(), database.read_ahead([(_COUNT, ())]):
        database.acquire(Lock.CCHAIN)
        _insert_in_another_way(nodes(2)[1:])
        assert database.row(_COUNT) == (2,)
    with database.read_ahead([(_COUNT, ())]):
        pass
    _insert_in_another_way(nodes(3)[2:])
    assert database.row(_COUNT) == (3,)


@in_postgresql
def test_nested_prefetch_queries_only_missing_results(database: Database) -> None:
    other = ("SELECT 1", ())
    with database.read_ahead([(_COUNT, ())]), CaptureQueriesContext(connection) as captured:
        with database.read_ahead([(_COUNT, ()), other]):
            assert [query["sql"] for query in captured] == ["SELECT 1"]
        assert database.row(_COUNT) == (0,)
        assert len(captured) == 1


def _insert_in_another_way(rows: Sequence[Row]) -> None:
    for key, rlp in rows:
        TrieNode.objects.create(key=key, rlp=rlp)
