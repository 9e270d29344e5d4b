"""Transactions, internal calls and logs in ranges of blocks, in either order, for clients that read whole lists.

Keys are queried first, then the rows up to a size limit, because inputs of transactions can be large.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from cchain_app import models
from cchain_app.chain import EvmChain
from cchain_app.models import Call, CallType
from cchain_app.selectors import calls
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import InvalidTransaction
from chaindb.fields import row_id
from explorer_app.selectors import cchain
from primitives.evm import Address, Hash

MAX_BYTES: Final = 25_000_000
"""Limit of bytes of transactions, or of logs' data, in one list."""
MAX_EVENTS: Final = 24
"""Limit of event kinds of one contract that are searched separately."""
UNINDEXED_BLOCKS: Final = 10_000
"""Limit of blocks for a search of logs that no index supports."""
_AT_ONCE: Final = 500
_LONG_ROWS: Final = 50
"""Rows that are in memory together before their bytes are counted."""

_LISTED: Final = (
    "id", "hash", "block_id", "index", "block__timestamp", "block__hash", "sender", "to", "nonce", "value", "gas",
    "raw", "receipt__succeeded", "receipt__gas_used", "receipt__cumulative_gas_used",
    "receipt__effective_gas_price", "receipt__contract_address",
)  # fmt: skip
_LOGGED: Final = (
    "address", "topic0", "topic1", "topic2", "topic3", "data", "block_id", "index", "block__hash",
    "block__timestamp", "transaction__hash", "transaction__index",
    "transaction__receipt__effective_gas_price", "transaction__receipt__gas_used",
)  # fmt: skip


class ListTooLong(Exception):
    """The list has more bytes than one answer may have."""


class RangeTooLong(Exception):
    """The range has more blocks than can be searched without an index."""


class Span(NamedTuple):
    """The requested part of a list."""

    first: int
    """Height of the first block."""
    last: int
    """Height of the last block, inclusive."""
    skip: int
    maximum: int
    descending: bool = False

    @property
    def keys(self) -> tuple[int, int]:
        """The range of row keys of these blocks: from the first value, below the second."""
        return row_id(self.first), row_id(self.last + 1)


class ListedTransaction(NamedTuple):
    """A transaction with all columns that lists of other explorers have."""

    id: int
    hash: Hash
    number: int
    position: int
    timestamp: int
    block_hash: Hash
    sender: Address
    to: Address | None
    nonce: int
    value: int
    gas: int
    raw: bytes
    succeeded: bool
    gas_used: int
    cumulative_gas_used: int
    price: int
    created: Address | None

    @property
    def data(self) -> bytes:
        """The input; empty for a type that this node does not support."""
        try:
            return decode_unsigned(bytes(self.raw)).data
        except InvalidTransaction:
            return b""


class ListedLog(NamedTuple):
    """A log with its position and the gas price and gas of its transaction."""

    address: Address
    topic0: bytes | None
    topic1: bytes | None
    topic2: bytes | None
    topic3: bytes | None
    data: bytes
    number: int
    log_index: int
    """Index among the logs of its block."""
    block_hash: Hash
    timestamp: int
    transaction_hash: Hash
    transaction_index: int
    price: int
    gas_used: int

    @property
    def topics(self) -> list[bytes]:
        """The topics that are present."""
        words = (self.topic0, self.topic1, self.topic2, self.topic3)
        return [bytes(word) for word in words if word is not None]


class LogSearch(NamedTuple):
    """The criteria of a search for logs."""

    address: Address | None
    groups: Sequence[Sequence[tuple[int, bytes]]]
    """Pairs of position and topic; in each group at least one topic must be at its position."""

    @property
    def names_event(self) -> bool:
        """Whether the search requires one certain first topic, so that an index supports it."""
        return any(len(group) == 1 and group[0][0] == 0 for group in self.groups)


def transactions_of(chain: EvmChain, address: Address, span: Span) -> list[ListedTransaction]:
    """Return transactions that an address sent or received, or that created it.

    Raises:
        ListTooLong: They have more than `MAX_BYTES`.
    """
    rows = chain.db.objects(models.Transaction)
    created = chain.db.objects(models.Receipt).filter(contract_address=address)
    keys = merged_keys(
        [
            rows.filter(sender=address),
            rows.filter(to=address),
            rows.filter(id__in=created.values("transaction_id")),
        ],
        span,
    )
    transactions: list[ListedTransaction] = []
    size = 0
    for start in range(0, len(keys), _AT_ONCE):
        part = rows.filter(id__in=keys[start : start + _AT_ONCE]).values_list(*_LISTED)
        for row in part.iterator():
            transactions.append(ListedTransaction(*row))
            size += len(transactions[-1].raw)
            if size > MAX_BYTES:
                raise ListTooLong
    return sorted(transactions, key=lambda row: row.id, reverse=span.descending)


def calls_of(chain: EvmChain, address: Address | None, span: Span) -> list[Call]:
    """Return internal transactions of an address, or of all: calls with value, creations and SELFDESTRUCTs.

    Only indexed calls are found (NODE_TRACE_INDEX).
    """
    rows = _inner_calls(chain)
    branches = [rows] if address is None else [rows.filter(sender=address), rows.filter(to=address)]
    keys = merged_keys(branches, span)
    calls = _with_blocks(chain.db.objects(Call).filter(id__in=keys))
    return sorted(calls, key=lambda row: row.pk, reverse=span.descending)


def calls_in(chain: EvmChain, transaction: int) -> list[Call]:
    """Return the internal transactions of one transaction, by its key."""
    rows = _inner_calls(chain).filter(transaction_id=transaction)
    return list(_with_blocks(rows).order_by("index")[:_AT_ONCE])


def logs(chain: EvmChain, search: LogSearch, span: Span) -> list[ListedLog]:
    """Return the logs that match a search.

    Raises:
        RangeTooLong: No index supports the search, and the range has too many blocks.
        ListTooLong: The logs have more than `MAX_BYTES`.
    """
    rows = chain.db.objects(models.Log)
    keys = merged_keys(_log_branches(chain, search, span), span)
    logs: list[ListedLog] = []
    size = 0
    for start in range(0, len(keys), _AT_ONCE):
        part = rows.filter(id__in=keys[start : start + _AT_ONCE]).order_by("id")
        for row in part.values_list(*_LOGGED).iterator(chunk_size=_LONG_ROWS):
            logs.append(ListedLog(*row))
            size += len(logs[-1].data)
            if size > MAX_BYTES:
                raise ListTooLong
    return logs


def _log_branches(chain: EvmChain, search: LogSearch, span: Span) -> list[QuerySet[models.Log]]:
    """Return the parts of a search, each of which an index returns in the order of the chain.

    In the index by address the first topic precedes the key, so each topic of the address is a separate part.
    """
    rows = chain.db.objects(models.Log)
    for group in search.groups:
        rows = rows.filter(reduce(or_, (Q(**{f"topic{at}": topic}) for at, topic in group)))
    if search.address is not None:
        rows = rows.filter(address=search.address)
    if search.names_event:
        return [rows]
    if search.address is not None:
        topics = cchain.first_topics(chain, search.address, MAX_EVENTS + 1)
        if len(topics) <= MAX_EVENTS:
            named = [rows.filter(topic0=topic) for topic in topics]
            return [*named, rows.filter(topic0__isnull=True)]
    if span.last - span.first >= UNINDEXED_BLOCKS:
        raise RangeTooLong
    return [rows]


def block_at(chain: EvmChain, timestamp: int, *, before: bool) -> int | None:
    """Return the height of the last block up to a time, or of the first block at or after it; None if it is missing."""
    rows = chain.db.objects(models.Block)
    rows = (
        rows.filter(timestamp__lte=timestamp).order_by("-timestamp", "-number")
        if before
        else rows.filter(timestamp__gte=timestamp).order_by("timestamp", "number")
    )
    return rows.values_list("number", flat=True).first()


def receipt(chain: EvmChain, tx_hash: Hash) -> tuple[int, bool] | None:
    """Return key and success of a transaction, or None."""
    rows = chain.db.objects(models.Receipt).filter(transaction__hash=tx_hash)
    return rows.values_list("transaction_id", "succeeded").first()


def merged_keys(branches: Sequence[QuerySet[Any]], span: Span) -> list[int]:
    """Return a range of the keys of several lists merged into one."""
    first, stop = span.keys
    end = span.skip + span.maximum
    row_keys: set[int] = set()
    for branch in branches:
        rows = branch.filter(id__gte=first, id__lt=stop)
        ordered = rows.order_by("-id" if span.descending else "id")
        row_keys.update(ordered.values_list("id", flat=True)[:end])
    return sorted(row_keys, reverse=span.descending)[span.skip : end]


def _inner_calls(chain: EvmChain) -> QuerySet[Call]:
    """Return all internal calls that move value, create a contract or destroy one."""
    worth = Q(creates=True) | Q(type=CallType.SELFDESTRUCT) | Q(value__gt=0)
    moves = Q(type__in=[CallType.STATICCALL, CallType.DELEGATECALL])
    return calls.inner_calls(chain).filter(worth).exclude(moves)


def _with_blocks(rows: QuerySet[Call]) -> QuerySet[Call]:
    return rows.select_related("transaction__block").defer(
        "transaction__raw", "transaction__block__header"
    )
