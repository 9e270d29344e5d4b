"""Logs by address, topics and range of blocks: the question behind eth_getLogs.

How the database is asked is in `log_statements`.
"""

from typing import Any, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.filters import LogFilter
from cchain_app.selectors import log_statements
from chaindb.hotpath import WouldBlock, on_event_loop
from primitives.evm import Address, Hash, Word


class TooManyLogs(Exception):
    """More logs match than one answer may hold."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"query returned more than {limit} results")
        self.limit = limit


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
    """Return the logs of blocks first to last that match, in chain order.

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
    known = _events(chain, log_filter) if log_statements.names_no_event(log_filter) else None
    most = limit + 1 if limit else None
    statement = log_statements.search(chain, log_filter, first, last, most, known=known)
    rows = [] if statement is None else chain.db.rows(*statement)
    if limit and len(rows) > limit:
        raise TooManyLogs(limit)
    return [_found(row) for row in rows]


def _events(chain: EvmChain, log_filter: LogFilter) -> set[Word] | None:
    """Return the first topics of the addresses' logs, or None when they are too many."""
    rows = chain.db.rows(*log_statements.events(log_filter.addresses))
    if len(rows) == log_statements.MOST_EVENTS:
        return None
    return {topic for (topic,) in rows if topic is not None}


def _found(row: tuple[Any, ...]) -> FoundLog:
    address, topic0, topic1, topic2, topic3, data, *place = row
    topics = tuple(topic for topic in (topic0, topic1, topic2, topic3) if topic is not None)
    return FoundLog(address, topics, data, *place)
