"""Statements of each block use indexes on PostgreSQL, even before it has statistics of their tables.

It collects them at most once a minute. Until then it takes default shares of the rows, and the tests have none.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from cchain_app.models import row_id
from cchain_app.store import queries, trie_history
from chaindb.database import Database, SqlQuery

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql",
    reason="SQLite without statistics ignores the sizes of tables",
)

ROWS = 60_000
FILL = (
    """
    INSERT INTO cchain_app_trienode (key, rlp)
    SELECT sha256(n::text::bytea), '\\x00' FROM generate_series(1, {rows}) AS n
    """,
    """
    INSERT INTO cchain_app_trienodechange (key, number, rlp)
    SELECT sha256(n::text::bytea), 1, '\\x00' FROM generate_series(1, {rows}) AS n
    """,
    """
    INSERT INTO cchain_app_triehistory (id, number, changes, first) VALUES (1, 1, 1, 1)
    ON CONFLICT (id) DO NOTHING
    """,
    """
    INSERT INTO cchain_app_accountchange (id, address, number)
    SELECT n::bigint * {places}, substring(sha256(n::text::bytea) FOR 20), n FROM generate_series(1, {rows}) AS n
    """,
    """
    INSERT INTO cchain_app_storagechange (id, key, number, value)
    SELECT n::bigint * {places}, sha256(n::text::bytea), n, '\\x00' FROM generate_series(1, {rows}) AS n
    """,
    """
    INSERT INTO cchain_app_transaction (
      id, hash, block_id, index, type, sender, nonce, value, gas, max_fee_per_gas, max_priority_fee_per_gas, raw)
    SELECT n::bigint * {places}, sha256(n::text::bytea), n, 0, 2, '\\x00', n, 0, 21000, 1, 1, decode(repeat('ab', 120), 'hex')
    FROM generate_series(1, {rows}) AS n
    """,
    """
    INSERT INTO cchain_app_receipt (
      transaction_id, succeeded, gas_used, cumulative_gas_used, effective_gas_price, first_log_index, log_count)
    SELECT n::bigint * {places}, true, 21000, 21000, 1, 0, 0 FROM generate_series(1, {rows}) AS n
    """,
)


@pytest.fixture
def database(db: None) -> Database:
    """Tables of a chain of 60,000 blocks, without statistics."""
    database = Database()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for statement in FILL:
            cursor.execute(statement.format(rows=ROWS, places=row_id(1)))
    return database


def scanned(database: Database, query: SqlQuery) -> set[str]:
    """Return the tables of which a statement reads all rows."""
    text, params = query
    [[plan]] = database.rows(f"EXPLAIN (FORMAT JSON) {text}", params)
    return set(_scanned(plan[0]["Plan"]))


def _scanned(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for below in node.get("Plans", []):
        yield from _scanned(below)


def test_nodes_of_the_trie_are_found_by_index(database: Database) -> None:
    statement = trie_history._KEEP_ON_POSTGRESQL
    keys = [bytes([place]) * 32 for place in range(12)]
    nodes = {"cchain_app_trienode", "cchain_app_trienodechange"}
    assert not nodes & scanned(database, (statement, [keys]))


def test_missed_blocks_are_found_by_index(database: Database) -> None:
    found = {
        table for query in queries.missed_queries(ROWS, ROWS) for table in scanned(database, query)
    }
    assert not {table for table in found if table.endswith(("change", "transaction", "receipt"))}
