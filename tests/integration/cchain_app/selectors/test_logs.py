"""Log search in the database: which logs are found, in which order, and by which index."""

import asyncio
import json
import random
import re
from collections.abc import Iterator
from itertools import compress
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.filters import LogFilter
from cchain_app.selectors import logs as selector
from cchain_app.selectors.logs import FoundLog, TooManyLogs, find_logs
from chaindb.connections import WouldBlock
from chaindb.database import Database
from primitives.evm import Address, Word
from tests.builders import rows

pytestmark = pytest.mark.django_db

_COLUMNS = (
    "id", "block", "transaction", "index", "address", "topic0", "topic1", "topic2", "topic3", "data",
)  # fmt: skip


def write_logs(logs: list[FoundLog]) -> None:
    Database().insert(
        models.Log,
        _COLUMNS,
        (
            (
                models.row_id(item.number, item.log_index), item.number,
                models.row_id(item.number, item.transaction_index), item.log_index, item.address,
                *(*item.topics, None, None, None, None)[:4], item.data,
            )
            for item in logs
        ),
    )  # fmt: skip


def log(number: int, index: int, address: Address, topics: tuple[Word, ...]) -> FoundLog:
    place = index % rows.PER_BLOCK
    return FoundLog(
        address, topics, b"%d" % index, number, rows.block_hash(number),
        rows.GENESIS_TIME + 2 * number, rows.transaction_hash(number, place), place, index,
    )  # fmt: skip


# Few values, so that a random filter finds something, and one value of each kind that no log has.
BLOCKS = 30
ADDRESSES = [Address(bytes([n]) * 20) for n in range(1, 6)]
WORDS = [Word(bytes([n]) * 32) for n in range(1, 7)]


@pytest.fixture
def logs() -> list[FoundLog]:
    """A chain whose logs have any of these addresses and up to four of these topics."""
    rows.write_chain(BLOCKS)
    models.Log.objects.all().delete()
    chance = random.Random(20)
    made = [
        log(
            number, index, chance.choice(ADDRESSES[1:]),
            tuple(chance.choice(WORDS[1:]) for _ in range(chance.randrange(5))),
        )
        for number in range(1, BLOCKS + 1)
        for index in range(chance.randrange(2 * rows.PER_BLOCK))
    ]  # fmt: skip
    write_logs(made)
    return made


def any_filter(chance: random.Random) -> LogFilter:
    return LogFilter(
        frozenset(chance.sample(ADDRESSES, chance.choice((0, 0, 1, 1, 2, 5)))),
        tuple(
            frozenset(chance.sample(WORDS, chance.choice((0, 0, 1, 2, 6))))
            for _ in range(chance.randrange(5))
        ),
    )


@pytest.mark.parametrize("most_events", [512, 4], ids=["events known", "too many events"])
def test_log_search_equals_a_full_scan(logs, monkeypatch, most_events):
    monkeypatch.setattr(selector, "MAX_EVENTS", most_events)
    chance = random.Random(21)
    sizes = set()
    for _ in range(400):
        wanted = any_filter(chance)
        first = chance.randrange(BLOCKS + 2)
        last = chance.randrange(first, BLOCKS + 3)
        in_range = [item for item in logs if first <= item.number <= last]
        expected = list(compress(in_range, wanted.matches(in_range)))
        assert find_logs(evm_chain(), wanted, first, last, 0) == expected, (wanted, first, last)
        sizes.add(len(expected))
    assert 0 in sizes
    assert len(sizes) > 50


def test_as_many_logs_as_the_limit_are_found_and_no_more(logs):
    wanted = LogFilter(frozenset(ADDRESSES[1:3]))
    found = find_logs(evm_chain(), wanted, 0, BLOCKS, 0)
    assert find_logs(evm_chain(), wanted, 0, BLOCKS, len(found)) == found
    with pytest.raises(TooManyLogs, match=rf"^query returned more than {len(found) - 1} results$"):
        find_logs(evm_chain(), wanted, 0, BLOCKS, len(found) - 1)


def test_log_search_on_the_event_loop_is_refused(logs):
    async def on_event_loop() -> None:
        find_logs(evm_chain(), LogFilter(), 0, BLOCKS, 0)

    with CaptureQueriesContext(connection) as asked, pytest.raises(WouldBlock, match=r"^$"):
        asyncio.run(on_event_loop())
    assert not asked.captured_queries


EMITTER = Address(b"\x77" * 20)
EVENT = rows.block_hash(10**9)
LONG = 500
WHO = Word(bytes(12) + rows.person(3))


@pytest.fixture
def long_chain() -> None:
    """Two thousand logs of the token, and ten of another contract and event."""
    rows.write_chain(LONG)
    write_logs(
        [
            log(number, rows.LOGS_PER_BLOCK, EMITTER, (EVENT, WHO))
            for number in range(25, LONG, LONG // 10)
        ]
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Index pages left over from other tests make a search by index look expensive.
            cursor.execute(f"REINDEX TABLE {models.Log._meta.db_table}")
            # Autovacuum analyzes a table that has grown. SQLite never has statistics.
            cursor.execute("ANALYZE")
            # A full scan of two thousand rows on fifty pages is cheapest: get the plan for larger tables.
            cursor.execute("SET LOCAL enable_seqscan = off")


_READ_BY = re.compile(r" USING (?:COVERING )?(?:INDEX )?(INTEGER PRIMARY KEY|\w+)")


def plan_lines(statement: selector.Statement) -> list[str]:
    """Return how SQLite reads each table, one line per table."""
    text, params = statement
    return [line for *_, line in Database().rows(f"EXPLAIN QUERY PLAN {text}", params)]


def plan_nodes(statement: selector.Statement) -> Iterator[dict[str, Any]]:
    """Yield the nodes of PostgreSQL's plan."""
    text, params = statement
    [[found]] = Database().rows(f"EXPLAIN (FORMAT JSON) {text}", params)
    left = [load["Plan"] for load in (json.loads(found) if isinstance(found, str) else found)]
    while left:
        node = left.pop()
        left += node.get("Plans", [])
        yield node


def assert_by_index(statement: selector.Statement, index: str, bounds: list[str]) -> None:
    """Assert that logs are read by one index, up to these bounds, and no table is scanned."""
    if connection.vendor == "postgresql":
        nodes = list(plan_nodes(statement))
        whole = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
        reads = {
            (node["Index Name"], bound)
            for node in nodes
            if "log" in node.get("Index Name", "")
            for bound in bounds
            if bound in node["Index Cond"]
        }
    else:
        lines = plan_lines(statement)
        whole = [line for line in lines if line.startswith("SCAN cchain_app_")]
        reads = {
            (_READ_BY.search(line)[1], bound)
            for line in lines
            if line.startswith(("SEARCH cchain_app_log ", "SEARCH log "))
            for bound in bounds
            if bound in line
        }
    assert not whole
    assert reads == {(index, bound) for bound in bounds}


SHAPES = {
    "an event of a contract": LogFilter(frozenset({EMITTER}), (frozenset({EVENT}),)),
    "an event of some contracts": LogFilter(
        frozenset({EMITTER, *ADDRESSES}), (frozenset({EVENT}),)
    ),
    "an event of many contracts": LogFilter(
        frozenset(map(rows.contract, range(100, 150))), (frozenset({rows.TRANSFER}),)
    ),
    "an event of a contract about somebody": LogFilter(
        frozenset({EMITTER}), (frozenset({EVENT}), frozenset({WHO}))
    ),
    "all of a contract": LogFilter(frozenset({EMITTER})),
    "all of a contract about somebody": LogFilter(
        frozenset({EMITTER}), (frozenset(), frozenset({WHO}))
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_logs_of_a_contract_are_read_by_address_event_and_range(long_chain, shape):
    known = {EVENT} if selector.names_no_event(SHAPES[shape]) else None
    statement = selector.search(evm_chain(), SHAPES[shape], 0, LONG, 10_001, known=known)
    assert statement is not None
    assert_by_index(statement, "cchain_log_by_address", ["address", "topic0", "id"])


def test_logs_of_some_events_of_a_contract_are_read_by_address_and_range(long_chain):
    # Depending on the number of events, the plan looks up each event or reads all the contract's logs.
    wanted = LogFilter(frozenset({EMITTER}), (frozenset({EVENT, *WORDS}),))
    statement = selector.search(evm_chain(), wanted, 0, LONG, 10_001)
    assert statement is not None
    assert_by_index(statement, "cchain_log_by_address", ["address", "id"])


@pytest.mark.parametrize("others", [(), (frozenset({WHO}),)], ids=["any", "about somebody"])
def test_logs_of_an_event_are_read_by_event_and_range(long_chain, others):
    statement = selector.search(
        evm_chain(), LogFilter(topics=(frozenset({EVENT}), *others)), 0, LONG, 10_001
    )
    assert statement is not None
    assert_by_index(statement, "cchain_log_by_topic0", ["topic0", "id"])


@pytest.mark.parametrize("topics", [(), (frozenset(), frozenset({WHO}))], ids=["all", "somebody"])
def test_other_logs_are_read_by_range(long_chain, topics):
    statement = selector.search(evm_chain(), LogFilter(topics=topics), LONG - 5, LONG - 1, 10_001)
    assert statement is not None
    if connection.vendor == "postgresql":
        assert_by_index(statement, "cchain_app_log_pkey", ["id"])
    else:
        assert_by_index(statement, "INTEGER PRIMARY KEY", ["rowid"])


def test_the_events_of_a_contract_are_read_by_steps_over_the_index(long_chain):
    statement = selector.events([EMITTER, rows.TOKEN])
    assert_by_index(statement, "cchain_log_by_address", ["address", "topic0"])
    found = {topic for (topic,) in Database().rows(*statement)}
    assert found == {EVENT, rows.TRANSFER, rows.UNKNOWN_EVENT, None}
