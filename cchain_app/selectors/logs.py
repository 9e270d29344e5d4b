"""Logs by address, topics and range of blocks: the query behind eth_getLogs."""

from collections.abc import Collection, Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from cchain_app import models
from cchain_app.chain import EvmChain
from cchain_app.filters import LogFilter
from chaindb.connections import WouldBlock, on_event_loop
from primitives.evm import Address, Hash, Word

Statement = tuple[str, list[Any]]
"""A query, or a part of one, and its parameters."""

MAX_EVENTS: Final = 512
"""Maximum number of events, counted for each address, for which searching each event separately pays off."""

_LOG: Final = "address, topic0, topic1, topic2, topic3, data"

_SEARCH: Final = f"""
    SELECT {_LOG}, found.block_id, block.hash, block.timestamp,
        sent.hash, sent."index", found."index"
    FROM ({{queues}} ORDER BY id {{limit}}) found
    JOIN cchain_app_block block ON block.number = found.block_id
    JOIN cchain_app_transaction sent ON sent.id = found.transaction_id
"""  # noqa: S608  # the names are these

# Columns to sort by, as indexes of the columns above: height and index in the block; or the index alone.
_place: Final = itemgetter(6, 11)
_index: Final = itemgetter(11)

_BRANCH: Final = f"""
    SELECT log.id, block_id, transaction_id, "index", {_LOG}
    FROM cchain_app_log log {{hint}} WHERE {{conditions}}
"""  # noqa: S608  # the names are these

# One index returns the logs in chain order. For the search above, SQLite would copy them to a temporary table.
_WALK: Final = f"""
    SELECT {_LOG}, log.block_id, block.hash, block.timestamp, sent.hash, sent."index", log."index"
    FROM cchain_app_log log {{hint}}
    CROSS JOIN cchain_app_block block ON block.number = log.block_id
    CROSS JOIN cchain_app_transaction sent ON sent.id = log.transaction_id
    WHERE {{conditions}} ORDER BY log.id {{limit}}
"""  # noqa: S608  # the names are these

# SQLite has no statistics, and assumes that one event is rarer than a few addresses.
_BY_ADDRESS: Final = "INDEXED BY cchain_log_by_address"

# Steps from event to event in the index. The last row of each address has a null topic, which ends the recursion.
_EVENTS: Final = """
    WITH RECURSIVE event(address, topic0) AS (
        SELECT column1, (
            SELECT topic0 FROM cchain_app_log
            WHERE address = column1 AND topic0 IS NOT NULL ORDER BY topic0 LIMIT 1
        ) FROM (VALUES {addresses}) given
        UNION ALL
        SELECT address, (
            SELECT log.topic0 FROM cchain_app_log log
            WHERE log.address = event.address AND log.topic0 > event.topic0
            ORDER BY log.topic0 LIMIT 1
        ) FROM event WHERE topic0 IS NOT NULL
    )
    SELECT topic0 FROM event LIMIT %s
"""


def names_no_event(log_filter: LogFilter) -> bool:
    """Return whether a filter has addresses but no events."""
    return bool(log_filter.addresses) and not any(log_filter.topics[:1])


def events(addresses: Collection[Address]) -> Statement:
    """Build the query for the first topics of the addresses' logs; MAX_EVENTS rows mean too many.

    The result may contain a topic several times, and always contains nulls.
    """
    given = ", ".join(["(%s)"] * len(addresses))
    return _EVENTS.format(addresses=given), [*addresses, MAX_EVENTS]


def search(
    chain: EvmChain,
    log_filter: LogFilter,
    first: int,
    last: int,
    most: int | None,
    *,
    known: Collection[Word] | None = None,
) -> Statement | None:
    """Build the query for the matching logs of blocks first to last: the first ones of the chain, in any order.

    Args:
        chain: The chain.
        log_filter: Addresses and topics.
        first: Height of the first block.
        last: Height of the last block, included.
        most: Maximum number of logs to return; None for any number.
        known: All first topics of the addresses' logs; None if they are not known.

    Returns:
        The query, or None if `known` shows that no log can match.
    """
    terms = [
        ("log.id >= %s AND log.id < %s", [models.row_id(first), models.row_id(last + 1)]),
        *_terms(log_filter),
    ]
    is_sqlite = chain.db.connection.vendor == "sqlite"
    hint = _BY_ADDRESS if log_filter.addresses and is_sqlite else ""
    queues = [_conditions([*terms, *extra]) for extra in _by_event(log_filter, known)]
    if not queues:
        return None
    limit = "" if most is None else "LIMIT %s"
    if is_sqlite and known is None and _is_in_order(log_filter):
        text = _WALK.format(hint=hint, conditions=queues[0][0], limit=limit)
    else:
        branches = [_BRANCH.format(hint=hint, conditions=conditions) for conditions, _ in queues]
        text = _SEARCH.format(queues=" UNION ALL ".join(branches), limit=limit)
    params = [param for _, params in queues for param in params]
    return text, params if most is None else [*params, most]


def _is_in_order(log_filter: LogFilter) -> bool:
    """Return whether one index has the matches in chain order: the filter has one event, and at most one address."""
    first = log_filter.topics[:1]
    return len(log_filter.addresses) <= 1 and len(first) == 1 and len(first[0]) == 1


def _conditions(terms: list[Statement]) -> Statement:
    params = [param for _, params in terms for param in params]
    return " AND ".join(text for text, _ in terms), params


def _terms(log_filter: LogFilter) -> Iterator[Statement]:
    if log_filter.addresses:
        yield _in("address", log_filter.addresses)
    for position, alternatives in enumerate(log_filter.topics):
        if alternatives:
            yield _in(f"topic{position}", alternatives)
        else:
            # A position that matches anything still requires that the log has that many topics.
            yield f"topic{position} IS NOT NULL", []


def _by_event(log_filter: LogFilter, known: Collection[Word] | None) -> Iterator[list[Statement]]:
    """Yield the additional conditions of each part of the search."""
    if known is None:
        yield []
        return
    if known:
        yield [_in("topic0", known)]
    if not log_filter.topics:
        yield [("topic0 IS NULL", [])]


def _in(column: str, values: Collection[bytes]) -> Statement:
    return f"{column} IN ({', '.join(['%s'] * len(values))})", list(values)


class TooManyLogs(Exception):
    """More logs match than one answer may hold."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"query returned more than {limit} results")
        self.limit = limit


LogRow = tuple[Any, ...]
"""The fields of a `FoundLog` in its order, but with four topics, which are None if they are absent."""


class FoundLog(NamedTuple):
    """A log with its position in the chain."""

    address: Address
    topics: tuple[Word, ...]
    data: bytes
    number: int
    """The number of its block."""
    block_hash: Hash
    timestamp: int
    """The time of its block, in Unix seconds."""
    transaction_hash: Hash
    transaction_index: int
    log_index: int
    """Its index in its block."""


def find_logs(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int, limit: int
) -> list[FoundLog]:
    """Return the logs of blocks first to last that match, in chain order. As `find_rows`, but parsed."""
    return [found_log(row) for row in find_rows(chain, log_filter, first, last, limit)]


def find_rows(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int, limit: int
) -> list[LogRow]:
    """Return the rows of the logs of blocks first to last that match, in chain order.

    Args:
        chain: The chain.
        log_filter: Addresses and topics.
        first: Height of the first block.
        last: Height of the last block, included.
        limit: Maximum number of logs to return; 0 means any number.

    Raises:
        TooManyLogs: More than `limit` logs match.
        WouldBlock: This is the event loop.
    """
    if on_event_loop():
        raise WouldBlock
    most = limit + 1 if limit else None

    def read() -> list[LogRow]:
        known = _events(chain, log_filter) if names_no_event(log_filter) else None
        statement = search(chain, log_filter, first, last, most, known=known)
        return [] if statement is None else chain.db.rows(*statement)

    rows = chain.db.on_replica(read)
    if limit and len(rows) > limit:
        raise TooManyLogs(limit)
    # Sorted here, because SQLite would sort whole rows although they come in this order.
    rows.sort(key=_index if first == last else _place)
    return rows


def _events(chain: EvmChain, log_filter: LogFilter) -> set[Word] | None:
    """Return the first topics of the addresses' logs, or None if there are too many."""
    rows = chain.db.rows(*events(log_filter.addresses))
    if len(rows) == MAX_EVENTS:
        return None
    return {topic for (topic,) in rows if topic is not None}


def found_log(row: LogRow) -> FoundLog:
    """Convert a row to a log."""
    address, topic0, topic1, topic2, topic3, data, *place = row
    topics = tuple(topic for topic in (topic0, topic1, topic2, topic3) if topic is not None)
    return FoundLog(address, topics, data, *place)
