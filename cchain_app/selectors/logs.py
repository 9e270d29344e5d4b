"""Logs by address, topics and range of blocks: the question behind eth_getLogs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from cchain_app import models
from cchain_app.filters import LogFilter
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


_COLUMNS = (
    "address", "topic0", "topic1", "topic2", "topic3", "data", "block_id", "block__hash",
    "block__timestamp", "transaction__hash", "transaction__index", "index",
)  # fmt: skip


def find_logs(log_filter: LogFilter, first: int, last: int, limit: int) -> list[FoundLog]:
    """Return the logs of blocks first to last that match, in chain order.

    Args:
        log_filter: Addresses and topics.
        first: Height of the first block.
        last: Height of the last block, included.
        limit: Most logs to return; 0 means any number.

    Raises:
        TooManyLogs: More than `limit` match.
    """
    rows = _matching(log_filter).filter(
        id__gte=models.row_id(first), id__lt=models.row_id(last + 1)
    )
    rows = rows.order_by("id")
    found = list(_found(rows[: limit + 1] if limit else rows))
    if limit and len(found) > limit:
        raise TooManyLogs(limit)
    return found


def _matching(log_filter: LogFilter) -> QuerySet[models.Log]:
    rows = models.Log.objects.all()
    if log_filter.addresses:
        rows = rows.filter(address__in=list(log_filter.addresses))
    for position, alternatives in enumerate(log_filter.topics):
        column = f"topic{position}"
        if alternatives:
            rows = rows.filter(**{f"{column}__in": list(alternatives)})
        else:
            # An open position still asks for a log that has so many topics.
            rows = rows.filter(**{f"{column}__isnull": False})
    return rows


def _found(rows: QuerySet[models.Log]) -> Iterator[FoundLog]:
    for row in rows.values_list(*_COLUMNS):
        values: tuple[Any, ...] = row
        yield FoundLog(
            address=Address(values[0]),
            topics=tuple(Word(topic) for topic in values[1:5] if topic is not None),
            data=values[5],
            number=values[6],
            block_hash=Hash(values[7]),
            timestamp=values[8],
            transaction_hash=Hash(values[9]),
            transaction_index=values[10],
            log_index=values[11],
        )
