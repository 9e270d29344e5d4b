"""Logs by address, topics and range of blocks: the question behind eth_getLogs.

How the database is asked is in `log_statements`.
"""

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

MOST_EVENTS: Final = 512
"""Events, counted for each address, beyond which looking at each costs more than it saves."""

_LOG: Final = "address, topic0, topic1, topic2, topic3, data"

_SEARCH: Final = f"""
    SELECT {_LOG}, found.block_id, block.hash, block.timestamp,
        sent.hash, sent."index", found."index"
    FROM ({{queues}} ORDER BY id {{limit}}) found
    JOIN cchain_app_block block ON block.number = found.block_id
    JOIN cchain_app_transaction sent ON sent.id = found.transaction_id
"""  # noqa: S608  # the names are these

# In the order of the columns above: the height, and the index in the block; the index alone within one block.
_place: Final = itemgetter(6, 11)
_index: Final = itemgetter(11)

_BRANCH: Final = f"""
    SELECT log.id, block_id, transaction_id, "index", {_LOG}
    FROM cchain_app_log log {{hint}} WHERE {{conditions}}
"""  # noqa: S608  # the names are these

# One index gives the logs in chain order: SQLite would put them into a table of its own for the search above.
_WALK: Final = f"""
    SELECT {_LOG}, log.block_id, block.hash, block.timestamp, sent.hash, sent."index", log."index"
    FROM cchain_app_log log {{hint}}
    CROSS JOIN cchain_app_block block ON block.number = log.block_id
    CROSS JOIN cchain_app_transaction sent ON sent.id = log.transaction_id
    WHERE {{conditions}} ORDER BY log.id {{limit}}
"""  # noqa: S608  # the names are these

# SQLite has no statistics, and takes one event to be rarer than a few addresses.
_BY_ADDRESS: Final = "INDEXED BY cchain_log_by_address"

# From event to event by the index. The last row of each address has none, and ends its walk.
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
    """Say whether a filter has addresses and leaves their events open."""
    return bool(log_filter.addresses) and not any(log_filter.topics[:1])


def events(addresses: Collection[Address]) -> Statement:
    """Ask for the first topics of the logs that addresses have: MOST_EVENTS rows if too many.

    A topic may come several times, and a null always does.
    """
    given = ", ".join(["(%s)"] * len(addresses))
    return _EVENTS.format(addresses=given), [*addresses, MOST_EVENTS]


def search(
    chain: EvmChain,
    log_filter: LogFilter,
    first: int,
    last: int,
    most: int | None,
    *,
    known: Collection[Word] | None = None,
) -> Statement | None:
    """Ask for the logs of blocks first to last that match: the first ones in chain order, in any order.

    Args:
        chain: Which chain.
        log_filter: Addresses and topics.
        first: Height of the first block.
        last: Height of the last block, included.
        most: Most logs to return; None is any number.
        known: All first topics of the addresses' logs; None when nobody has looked.

    Returns:
        The query, or None where `known` tells that there can be no such log.
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
    """Say whether one index has what a filter is about in chain order: of one event, and one address if any."""
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
            # An open position still asks for a log that has so many topics.
            yield f"topic{position} IS NOT NULL", []


def _by_event(log_filter: LogFilter, known: Collection[Word] | None) -> Iterator[list[Statement]]:
    """Yield what each part of the search adds to the conditions."""
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
"""What a `FoundLog` has, in its order, but for the topics: four of them, with None for those that there are not."""


class FoundLog(NamedTuple):
    """A log with its place in the chain."""

    address: Address
    topics: tuple[Word, ...]
    data: bytes
    number: int
    """Of its block."""
    block_hash: Hash
    timestamp: int
    """Of its block, Unix seconds."""
    transaction_hash: Hash
    transaction_index: int
    log_index: int
    """Within its block."""


def find_logs(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int, limit: int
) -> list[FoundLog]:
    """Return the logs of blocks first to last that match, in chain order. Takes and raises what `find_rows` does."""
    return [found_log(row) for row in find_rows(chain, log_filter, first, last, limit)]


def find_rows(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int, limit: int
) -> list[LogRow]:
    """Return the same as rows.

    Args:
        chain: Which chain.
        log_filter: Addresses and topics.
        first: Height of the first block.
        last: Height of the last block, included.
        limit: Most logs to return; 0 means any number.

    Raises:
        TooManyLogs: More than `limit` match.
        WouldBlock: This is the event loop.
    """
    if on_event_loop():
        raise WouldBlock
    known = _events(chain, log_filter) if names_no_event(log_filter) else None
    most = limit + 1 if limit else None
    statement = search(chain, log_filter, first, last, most, known=known)
    rows = [] if statement is None else chain.db.rows(*statement)
    if limit and len(rows) > limit:
        raise TooManyLogs(limit)
    # SQLite would sort them with all that is in them, though they come in this order.
    rows.sort(key=_index if first == last else _place)
    return rows


def _events(chain: EvmChain, log_filter: LogFilter) -> set[Word] | None:
    """Return the first topics of the addresses' logs, or None when they are too many."""
    rows = chain.db.rows(*events(log_filter.addresses))
    if len(rows) == MOST_EVENTS:
        return None
    return {topic for (topic,) in rows if topic is not None}


def found_log(row: LogRow) -> FoundLog:
    """Return a row as a log."""
    address, topic0, topic1, topic2, topic3, data, *place = row
    topics = tuple(topic for topic in (topic0, topic1, topic2, topic3) if topic is not None)
    return FoundLog(address, topics, data, *place)
