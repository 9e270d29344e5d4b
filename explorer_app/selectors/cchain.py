"""The C-Chain's blocks and transactions for lists, the latest first, and data for charts."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from cchain_app import models
from cchain_app.chain import EvmChain
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import InvalidTransaction
from chaindb.fields import row_id
from primitives.evm import Address, Hash

PAGE: Final = 25
"""Rows per page of a list."""

CHARTED: Final = 60
"""Blocks in a small chart."""

TOPICS: Final = 24
"""Limit of event kinds per contract that are listed."""

FAR: Final = 2**63 - 1

# Finds the distinct topics with one index lookup per topic.
_TOPICS: Final = """
WITH RECURSIVE part(topic) AS (
    SELECT * FROM (SELECT topic0 FROM cchain_app_log WHERE address = %s AND topic0 IS NOT NULL
                   ORDER BY topic0 LIMIT 1) part
    UNION ALL
    SELECT (SELECT topic0 FROM cchain_app_log WHERE address = %s AND topic0 > part.topic
            ORDER BY topic0 LIMIT 1)
    FROM part WHERE part.topic IS NOT NULL
)
SELECT topic FROM part WHERE topic IS NOT NULL LIMIT %s
"""
_BY_TOPIC: Final = """
SELECT * FROM (SELECT id FROM cchain_app_log WHERE address = %s AND topic0 {topic} AND id < %s
               ORDER BY id DESC LIMIT %s) part
"""
_NAMED: Final = _BY_TOPIC.format(topic="= %s")
_ANONYMOUS: Final = _BY_TOPIC.format(topic="IS NULL")

_BLOCK: Final = (
    "number", "hash", "timestamp", "transaction_count", "gas_used", "gas_limit", "base_fee", "size", "miner",
)  # fmt: skip
_TRANSACTION: Final = (
    "id", "hash", "block_id", "index", "block__timestamp", "type", "sender", "to", "nonce", "value", "gas", "raw",
    "receipt__succeeded", "receipt__gas_used", "receipt__effective_gas_price", "receipt__contract_address",
    "receipt__log_count",
)  # fmt: skip


class BlockRow(NamedTuple):
    """A block without its transactions."""

    number: int
    hash: Hash
    timestamp: int
    """Unix seconds."""
    transaction_count: int
    gas_used: int
    gas_limit: int
    base_fee: int | None
    """Wei per gas."""
    size: int
    """In bytes."""
    miner: Address


class TransactionRow(NamedTuple):
    """A transaction of an accepted block, with its outcome."""

    id: int
    hash: Hash
    number: int
    """Height of the transaction's block."""
    position: int
    """Index in the block."""
    timestamp: int
    """The block's time in Unix seconds."""
    type: int
    sender: Address
    to: Address | None
    nonce: int
    value: int
    """In wei."""
    gas: int
    """Gas limit."""
    raw: bytes
    """The encoded transaction with its type."""
    succeeded: bool
    gas_used: int
    price: int
    """Wei per gas."""
    created: Address | None
    """Address of a created contract; also set if the creation failed."""
    log_count: int

    @property
    def fee(self) -> int:
        """The fee in wei."""
        return self.gas_used * self.price

    @property
    def recipient(self) -> Address | None:
        """The recipient, or the created contract; None if the creation failed."""
        return self.to or (self.created if self.succeeded else None)

    @property
    def data(self) -> bytes:
        """The input; empty for a type that this node does not support."""
        try:
            return decode_unsigned(bytes(self.raw)).data
        except InvalidTransaction:
            return b""


def blocks(chain: EvmChain, *, before: int | None = None, count: int = PAGE) -> list[BlockRow]:
    """Return blocks below a height, or from the head if none is given, the latest first."""
    rows = chain.db.objects(models.Block).order_by("-number")
    if before is not None:
        rows = rows.filter(number__lt=before)
    return [BlockRow(*row) for row in rows.values_list(*_BLOCK)[:count]]


def block(chain: EvmChain, number: int) -> models.Block | None:
    """Return a block's row by its height, or None above the head."""
    return chain.db.objects(models.Block).filter(number=number).first()


def number_of(chain: EvmChain, block_hash: Hash) -> int | None:
    """Return the height of the block with a hash, or None."""
    blocks_with_hash = chain.db.objects(models.Block).filter(hash=block_hash)
    return blocks_with_hash.values_list("number", flat=True).first()


def transactions(
    chain: EvmChain, *, before: int | None = None, count: int = PAGE
) -> list[TransactionRow]:
    """Return transactions before a key (the `id` of the last one shown), the latest first."""
    return _page(_transactions(chain), before, count)


def transactions_of_block(
    chain: EvmChain, number: int, *, first: int = 0, count: int = PAGE
) -> list[TransactionRow]:
    """Return transactions of a block in its order, starting at an index."""
    rows = _transactions(chain).filter(id__gte=row_id(number, first), id__lt=row_id(number + 1))
    return [TransactionRow(*row) for row in rows.order_by("id").values_list(*_TRANSACTION)[:count]]


def transaction(chain: EvmChain, tx_hash: Hash) -> TransactionRow | None:
    """Return the transaction with a hash; None if it is not in a block."""
    row = _transactions(chain).filter(hash=tx_hash).values_list(*_TRANSACTION).first()
    return None if row is None else TransactionRow(*row)


def transactions_by_keys(chain: EvmChain, keys: Iterable[int]) -> dict[int, TransactionRow]:
    """Return transactions by their keys."""
    rows = _transactions(chain).filter(id__in=list(keys)).values_list(*_TRANSACTION)
    return {row[0]: TransactionRow(*row) for row in rows}


def history(
    chain: EvmChain,
    address: Address,
    *,
    sent: bool = True,
    received: bool = True,
    before: int | None = None,
    count: int = PAGE,
) -> list[TransactionRow]:
    """Return transactions that an address sent or received, or that created it, the latest first.

    A failed creation does not count as received.
    """
    rows = _transactions(chain)
    branches: list[QuerySet[models.Transaction]] = []
    if sent:
        branches.append(rows.filter(sender=address))
    if received:
        branches.append(rows.filter(to=address))
        branches.append(rows.filter(id__in=_creations(chain, address)))
    rows_by_id = {row.id: row for branch in branches for row in _page(branch, before, count)}
    return [rows_by_id[key] for key in sorted(rows_by_id, reverse=True)[:count]]


def neighbours(chain: EvmChain, row: TransactionRow) -> tuple[Hash | None, ...]:
    """Return the hashes of the sender's previous and next transaction."""
    own = chain.db.objects(models.Transaction).filter(sender=row.sender)
    earlier = own.filter(id__lt=row.id).order_by("-id").values_list("hash", flat=True).first()
    later = own.filter(id__gt=row.id).order_by("id").values_list("hash", flat=True).first()
    return tuple(
        None if block_hash is None else Hash(bytes(block_hash)) for block_hash in (earlier, later)
    )


def logs_of(chain: EvmChain, row: TransactionRow, *, count: int) -> list[models.Log]:
    """Return the first logs of a transaction."""
    if not row.log_count:
        return []
    rows = chain.db.objects(models.Log).filter(
        id__gte=row_id(row.number), id__lt=row_id(row.number + 1), transaction_id=row.id
    )
    return list(rows.order_by("id")[:count])


def first_topics(chain: EvmChain, address: Address, maximum: int) -> list[bytes]:
    """Return the first topics of an address's logs, sorted; at most `most` of them."""
    return [bytes(row[0]) for row in chain.db.rows(_TOPICS, (address, address, maximum))]


def logs_by(
    chain: EvmChain, address: Address, *, before: int | None = None, count: int = PAGE
) -> list[models.Log]:
    """Return logs that an address emitted, the latest first, with their transactions' hashes.

    The index of logs is by address and first topic, so there is one subquery per topic; for a contract with more
    than `TOPICS` topics only the first ones are searched.
    """
    last = FAR if before is None else before
    topics = first_topics(chain, address, TOPICS)
    parts = [_NAMED] * len(topics) + [_ANONYMOUS]
    params: list[Any] = []
    for topic in topics:
        params += [address, topic, last, count]
    key_rows = chain.db.rows(" UNION ALL ".join(parts), [*params, address, last, count])
    keys = sorted((key for (key,) in key_rows), reverse=True)[:count]
    rows = chain.db.objects(models.Log).filter(id__in=keys).select_related("transaction")
    by_key = {row.pk: row for row in rows.defer("transaction__raw").order_by()}
    return [by_key[key] for key in keys if key in by_key]


def counts(chain: EvmChain, address: Address) -> tuple[int, int]:
    """Return how many transactions an address sent and received."""
    rows = chain.db.objects(models.Transaction)
    return rows.filter(sender=address).count(), rows.filter(to=address).count()


def _creations(chain: EvmChain, address: Address) -> Sequence[int]:
    rows = chain.db.objects(models.Receipt).filter(contract_address=address, succeeded=True)
    return list(rows.order_by("contract_address").values_list("transaction_id", flat=True)[:PAGE])


def _transactions(chain: EvmChain) -> QuerySet[models.Transaction]:
    return chain.db.objects(models.Transaction)


def _page(rows: QuerySet[Any], before: int | None, count: int) -> list[TransactionRow]:
    if before is not None:
        rows = rows.filter(id__lt=before)
    return [TransactionRow(*row) for row in rows.order_by("-id").values_list(*_TRANSACTION)[:count]]
