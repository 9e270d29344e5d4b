"""Logs and transfers of tokens: inputs of the index, and lists of transfers for clients that read ranges of blocks."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from cchain_app.chain import EvmChain
from cchain_app.models import Receipt
from chaindb.fields import height_of, row_id
from explorer_app import models
from explorer_app.models import TokenTransfer
from explorer_app.selectors.ledger import ListTooLong, Span, merged_keys
from explorer_app.tokens.events import GAS_OF_AN_OWNER, MAX_DATA, TOPICS, TRANSFER, TokenStandard
from primitives.evm import Address

# Each branch uses the index of one topic, in order. Data is truncated to the maximum of a batch.
_BRANCH: Final = f"""
SELECT * FROM (
    SELECT id, transaction_id, address, topic0, topic1, topic2, topic3, substr(data, 1, {MAX_DATA}) AS data
    FROM cchain_app_log WHERE topic0 = %s AND id >= %s AND id < %s ORDER BY id LIMIT %s
) found
"""  # noqa: S608  # the number is ours
_LOGS: Final = f"{' UNION ALL '.join([_BRANCH] * len(TOPICS))} ORDER BY id LIMIT %s"

# For logs of wrapped coins: finds Transfer logs of the same contract in the same transaction.
_BESIDE: Final = """
SELECT transaction_id, address, topic1, topic2, substr(data, 1, 32) FROM cchain_app_log
WHERE topic0 = %s AND topic3 IS NULL AND topic2 IS NOT NULL AND id >= %s AND id < %s AND address IN ({keys})
"""
_SIGNERS: Final = "SELECT id, sender FROM cchain_app_transaction WHERE id IN ({keys})"
_GAS: Final = (
    "SELECT transaction_id, gas_used FROM cchain_app_receipt WHERE transaction_id IN ({keys})"
)
_NOTED: Final = """
SELECT transaction_id, sum(noted) FROM explorer_app_tokentransfer
WHERE transaction_id IN ({keys}) AND last_token_id IS NOT NULL GROUP BY transaction_id
"""
_STATE: Final = """
SELECT (SELECT next_log FROM explorer_app_tokenprogress WHERE id = 1),
  (SELECT number FROM cchain_app_block ORDER BY number DESC LIMIT 1),
  EXISTS (SELECT 1 FROM explorer_app_token WHERE asks_at <= %s),
  EXISTS (SELECT 1 FROM explorer_app_tokenbalance WHERE to_ask)
"""
_KINDS: Final = "SELECT address, kind FROM explorer_app_token WHERE asked_height IS NOT NULL AND address IN ({keys})"


class TransferLog(NamedTuple):
    """A log that may contain transfers."""

    key: int
    transaction: int
    """The transaction's key."""
    address: Address
    topics: tuple[bytes, ...]
    data: bytes


class WrappedCoins(NamedTuple):
    """A Transfer log that accompanies the log of a wrapped coin."""

    transaction: int
    contract: Address
    sender: Address
    to: Address
    value: int


class DueToken(NamedTuple):
    """A contract whose token data must be queried."""

    address: Address
    may_be_erc20: bool
    """Whether it has emitted a Transfer event as ERC-20 requires it."""
    attempts: int
    """Number of consecutive attempts without complete answers."""


class BalanceQuery(NamedTuple):
    """A balance that must be queried from its contract."""

    key: bytes
    contract: Address
    holder: Address
    token_id: int | None
    is_asked: bool
    """Whether the contract is a token of this kind; otherwise its answer would be meaningless."""


def next_logs(chain: EvmChain, first: int, before: int, maximum: int) -> list[TransferLog]:
    """Return the next logs that may contain transfers, in order.

    Args:
        chain: The chain.
        first: The lowest key.
        before: The upper limit of keys, exclusive.
        maximum: Limit of logs.
    """
    params = [value for topic in TOPICS for value in (topic, first, before, maximum)]
    return [_log(row) for row in chain.db.rows(_LOGS, [*params, maximum])]


def beside(chain: EvmChain, logs: Sequence[TransferLog]) -> set[WrappedCoins]:
    """Return the ERC-20 transfers by the same contracts in the same transactions as some logs."""
    if not logs:
        return set()
    ends = row_id(height_of(logs[0].key)), row_id(height_of(logs[-1].key) + 1)
    keys = {(log.transaction, log.address) for log in logs}
    contracts = sorted({log.address for log in logs})
    return {
        WrappedCoins(
            transaction,
            Address(bytes(contract)),
            _address(sender),
            _address(to),
            int.from_bytes(value or b""),
        )
        for transaction, contract, sender, to, value in chain.db.rows_by_keys(
            _BESIDE, contracts, [TRANSFER, *ends]
        )
        if (transaction, bytes(contract)) in keys
    }


def signers(chain: EvmChain, transactions: Iterable[int]) -> dict[int, Address]:
    """Return the senders of transactions, by the transactions' keys."""
    rows = chain.db.rows_by_keys(_SIGNERS, sorted(set(transactions)))
    return {key: Address(bytes(sender)) for key, sender in rows}


def owners_left(chain: EvmChain, transactions: Iterable[int]) -> dict[int, int]:
    """Return how many owners may still be recorded for the ranges of each transaction, by the transactions' keys.

    Unspecified: one owner per hundred gas that the transaction used, starting with its first range.
    """
    keys = sorted(set(transactions))
    noted: dict[int, Any] = dict(chain.db.rows_by_keys(_NOTED, keys))
    return {
        key: max(gas_used // GAS_OF_AN_OWNER - int(noted.get(key, 0)), 0)
        for key, gas_used in chain.db.rows_by_keys(_GAS, keys)
    }


def known_kinds(
    chain: EvmChain, contracts: Iterable[Address]
) -> dict[Address, TokenStandard | None]:
    """Return the kinds of contracts that have been queried; None if a contract is not a token."""
    rows = chain.db.rows_by_keys(_KINDS, sorted(set(contracts)))
    return {
        Address(bytes(address)): None if kind is None else TokenStandard(kind)
        for address, kind in rows
    }


def next_due_token(chain: EvmChain, now: int) -> DueToken | None:
    """Return the next contract to query, or None. Contracts that were never queried come first, the oldest first.

    So contracts with news in every block cannot keep others from being queried.

    Args:
        chain: The chain.
        now: Wall time in Unix seconds.
    """
    due = chain.db.objects(models.Token).filter(asks_at__lte=now).order_by("asks_at")
    columns = due.values_list("address", "first_erc20_log", "attempts")
    row = columns.filter(asked_height__isnull=True).first() or columns.first()
    return None if row is None else DueToken(Address(bytes(row[0])), row[1] is not None, row[2])


class TokenIndexState(NamedTuple):
    """How far the token index is, beside the head of the database."""

    height: int
    """The height up to which all transfers are rows; -1 if the index was never started."""
    head: int
    """The height of the head; -1 before genesis."""
    has_tokens_to_ask: bool
    """Whether contracts are due to be queried: a contract becomes a token by its answers."""
    has_balances_to_ask: bool
    """Whether balances have changed since their contracts were queried."""


def state_of_index(chain: EvmChain, now: int) -> TokenIndexState:
    """Return the progress of the index and the head, by one statement.

    Args:
        chain: The chain.
        now: Wall time in Unix seconds.
    """
    row = chain.db.row(_STATE, [now])
    assert row is not None
    next_log, head, asks_tokens, asks_balances = row
    return TokenIndexState(
        -1 if next_log is None else height_of(next_log) - 1,
        -1 if head is None else head,
        bool(asks_tokens),
        bool(asks_balances),
    )


def due_balances(chain: EvmChain, after: bytes, maximum: int) -> list[BalanceQuery]:
    """Return at most `most` balances that have changed since they were last queried, after a key.

    Balances of contracts that have not been queried themselves are omitted.
    """
    due = chain.db.objects(models.TokenBalance).filter(
        to_ask=True, key__gt=after, contract__asked_height__isnull=False
    )
    columns = ("key", "contract_id", "holder", "token_id", "kind", "contract__kind")
    return [
        BalanceQuery(
            bytes(key), Address(bytes(contract)), Address(bytes(holder)), token_id, kind == own
        )
        for key, contract, holder, token_id, kind, own in due.order_by("key").values_list(*columns)[
            :maximum
        ]
    ]


def _log(row: tuple[Any, ...]) -> TransferLog:
    key, transaction, address, *words, data = row
    topics = tuple(bytes(word) for word in words if word is not None)
    return TransferLog(
        key, transaction, Address(bytes(address)), topics, bytes(data or b"")
    )  # in SQLite substr of an empty value is null


def _address(word: bytes) -> Address:
    return Address(bytes(word[-20:]))


MAX_LOOKED_AT: Final = 100_000
"""Limit of rows of an address or contract that are examined for one list."""


def transfers(
    chain: EvmChain,
    kind: TokenStandard,
    address: Address | None,
    contract: Address | None,
    span: Span,
) -> list[TokenTransfer]:
    """Return indexed transfers of one standard, with their tokens and transactions.

    Args:
        chain: The chain.
        kind: The standard.
        address: Sender or recipient; None for any.
        contract: The token; None for any.
        span: The requested part of the list.

    Raises:
        ListTooLong: After `MAX_LOOKED_AT` rows the list is not full, because many rows do not match.
    """
    rows = chain.db.objects(TokenTransfer)
    branches = (
        [rows.filter(contract=contract)]
        if address is None
        else [rows.filter(sender=address), rows.filter(to=address)]
    )
    condition = Q(kind=kind, contract__kind__isnull=False)
    if contract is not None:
        condition &= Q(contract=contract)
    looked_at = _looked_at(branches, span)
    keys = merged_keys([branch.filter(looked_at, condition) for branch in branches], span)
    if looked_at and len(keys) < span.maximum:
        raise ListTooLong
    rows = chain.db.objects(TokenTransfer).filter(id__in=keys)
    transfers = rows.select_related("contract", "transaction__block").defer(
        "transaction__raw", "transaction__block__header"
    )
    return sorted(transfers, key=lambda transfer: transfer.id, reverse=span.descending)


def _looked_at(branches: Iterable[QuerySet[TokenTransfer]], span: Span) -> Q:
    """Return the condition for rows that are examined; empty if all are."""
    first, stop = span.keys
    ends: list[int] = []
    for branch in branches:
        rows = branch.filter(id__gte=first, id__lt=stop)
        keys = rows.order_by("-id" if span.descending else "id").values_list("id", flat=True)
        ends += keys[MAX_LOOKED_AT : MAX_LOOKED_AT + 1]
    if not ends:
        return Q()
    return Q(id__gt=max(ends)) if span.descending else Q(id__lt=min(ends))


def receipts(chain: EvmChain, transfers: Iterable[TokenTransfer]) -> dict[int, Receipt]:
    """Return the receipts of the transfers' transactions, by the transactions' keys."""
    keys = {transfer.transaction_id for transfer in transfers}
    return chain.db.objects(Receipt).in_bulk(list(keys))
