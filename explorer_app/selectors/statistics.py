"""Figures of the C-Chain by day, and its accounts by balance, from the rows that `services.statistics` keeps."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from django.db.models import QuerySet

from cchain_app.chain import EvmChain
from cchain_app.models import AccountChange, Block, Call, Receipt
from cchain_app.store import history
from chaindb.fields import UInt256Field, for_database, height_of, row_id
from explorer_app.models import DayFigures
from explorer_app.store.statistics import CountedDay
from primitives.evm import Address

PAGE: Final = 50
SECONDS_A_DAY: Final = 86_400
MAX_DAYS: Final = 366
"""Limit of the days on a page."""

_STATE: Final = """
SELECT
  (SELECT next_block FROM explorer_app_statisticsprogress WHERE id = 1),
  (SELECT next_change FROM explorer_app_statisticsprogress WHERE id = 1),
  (SELECT copied_to IS NULL FROM explorer_app_statisticsprogress WHERE id = 1),
  (SELECT accounts FROM explorer_app_statisticsprogress WHERE id = 1),
  (SELECT supply FROM explorer_app_statisticsprogress WHERE id = 1),
  (SELECT max(number) FROM cchain_app_block),
  EXISTS (SELECT 1 FROM explorer_app_rankedaccount WHERE is_stale)
"""
_RANKING: Final = """
SELECT address, balance FROM explorer_app_rankedaccount
WHERE balance > %s {after} ORDER BY balance DESC, address DESC LIMIT %s
"""
_AFTER: Final = "AND (balance, address) < (%s, %s)"


class SummaryState(NamedTuple):
    """How far the summaries are, and the totals of the accounts."""

    counted: int
    """The height up to which blocks are counted by day; -1 if none are."""
    copied: int
    """The height up to which changed balances are copied, likewise."""
    has_all_accounts: bool
    """Whether the initial copy of the accounts is complete."""
    accounts: int
    """Number of accounts with a balance."""
    supply: int
    """Sum of their balances, in wei."""
    head: int


class RankedBalance(NamedTuple):
    """An account in the list by balance."""

    address: Address
    balance: int
    """In wei."""


def state_of_summaries(chain: EvmChain) -> SummaryState:
    """Return the progress of the summaries and the head, by one statement."""
    row = chain.db.row(_STATE)
    assert row is not None
    next_block, next_change, is_complete, accounts, supply, head, has_stale = row
    last = -1 if head is None else head
    if next_block is None:
        return SummaryState(-1, -1, has_all_accounts=False, accounts=0, supply=0, head=last)
    copied = height_of(next_change) - 1
    complete = bool(is_complete) and not has_stale
    return SummaryState(next_block - 1, copied, complete, accounts, int(supply), last)


def accounts_by_balance(
    chain: EvmChain, *, after: RankedBalance | None = None, count: int = PAGE
) -> list[RankedBalance]:
    """Return accounts with a balance, the largest first, after one of them."""
    vendor = chain.db.connection.vendor
    nothing = for_database(0, UInt256Field.digits, vendor)
    params: list[object] = [nothing]
    if after is not None:
        params += [for_database(after.balance, UInt256Field.digits, vendor), after.address]
    sql = _RANKING.format(after="" if after is None else _AFTER)
    rows = chain.db.rows(sql, [*params, count])
    return [RankedBalance(Address(bytes(address)), int(balance)) for address, balance in rows]


def days(chain: EvmChain, *, count: int = MAX_DAYS) -> list[CountedDay]:
    """Return the figures of the latest days that have blocks, oldest first."""
    rows = chain.db.objects(DayFigures).order_by("-day").values_list(*CountedDay._fields)
    return [CountedDay(*row) for row in rows[:count]][::-1]


def burnt_fees(chain: EvmChain) -> int:
    """Return the base fees that the transactions of all counted days have paid, in wei."""
    return sum(chain.db.objects(DayFigures).order_by().values_list("burned", flat=True))


class _BlockSums(NamedTuple):
    """The columns of a block that are summed."""

    number: int
    timestamp: int
    transactions: int
    gas_used: int
    gas_limit: int
    base_fee: int | None


def count_blocks(
    chain: EvmChain,
    first: int,
    last: int,
    *,
    max_blocks: int,
    max_transactions: int,
    has_calls: bool,
) -> list[CountedDay]:
    """Return the sums over the next blocks by day, in order; empty if there are none.

    Args:
        chain: The chain.
        first: Height of the first block.
        last: Height of the last block.
        max_blocks: Limit of the blocks.
        max_transactions: Limit of their transactions, unless the first block has more.
        has_calls: Whether the calls of the blocks are rows, so that creations by contracts count too.
    """
    rows = chain.db.objects(Block).filter(number__gte=first, number__lte=last).order_by("number")
    columns = ("number", "timestamp", "transaction_count", "gas_used", "gas_limit", "base_fee")
    blocks: list[_BlockSums] = []
    transactions = 0
    for row in rows.values_list(*columns)[:max_blocks]:
        transactions += row[2]
        if blocks and transactions > max_transactions:
            break
        blocks.append(_BlockSums(*row))
    by_day = groupby(blocks, key=lambda block: block.timestamp // SECONDS_A_DAY)
    return [_counted(chain, day, list(group), has_calls=has_calls) for day, group in by_day]


def _counted(
    chain: EvmChain, day: int, blocks: Sequence[_BlockSums], *, has_calls: bool
) -> CountedDay:
    first, last = blocks[0].number, blocks[-1].number
    changes = chain.db.objects(AccountChange).filter(id__gte=row_id(first), id__lt=row_id(last + 1))
    new_accounts: int | None = changes.filter(nonce__isnull=True).count()
    if (
        history.first_state(chain.db) >= first
    ):  # changes were pruned, perhaps while they were counted
        new_accounts = None
    return CountedDay(
        day,
        first,
        last,
        len(blocks),
        sum(block.transactions for block in blocks),
        sum(block.gas_used for block in blocks),
        sum(block.gas_limit for block in blocks),
        sum(block.gas_used * (block.base_fee or 0) for block in blocks),
        new_accounts,
        _creations(chain, first, last, has_calls=has_calls).count(),
    )


def _creations(
    chain: EvmChain, first: int, last: int, *, has_calls: bool
) -> QuerySet[Call] | QuerySet[Receipt]:
    """Return the successful creations of contracts."""
    start, stop = row_id(first), row_id(last + 1)
    if has_calls and history.first_call(chain.db) <= first:
        return chain.db.objects(Call).filter(
            id__gte=start, id__lt=stop, creates=True, succeeded=True
        )
    receipts = chain.db.objects(Receipt).filter(transaction_id__gte=start, transaction_id__lt=stop)
    return receipts.filter(contract_address__isnull=False, succeeded=True)
