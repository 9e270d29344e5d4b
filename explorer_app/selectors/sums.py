"""Sums over rows: the tips that a miner's blocks paid; supply and burnt fees if there are no summaries of them."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Final

from django.db.models import Q

from cchain_app import models
from cchain_app.chain import EvmChain
from chaindb.fields import height_of, row_id
from explorer_app.selectors.ledger import ListTooLong, Span
from primitives.evm import Address

MINED_BLOCKS: Final = 100_000
"""Blocks below the head that are searched for those of a miner, without an index."""
MAX_PAYING: Final = 50_000
"""Limit of transactions whose tips are summed for one answer."""
_AT_ONCE: Final = 50
"""Blocks whose receipts are read in one statement."""


def mined_by(chain: EvmChain, miner: Address, head: int, span: Span) -> list[tuple[int, int]]:
    """Return heights and times of blocks whose coinbase is an address, among the last `MINED_BLOCKS`."""
    first = max(span.first, head - MINED_BLOCKS)
    rows = chain.db.objects(models.Block).filter(
        number__gte=first, number__lte=span.last, miner=miner
    )
    ordered = rows.order_by("-number" if span.descending else "number")
    return list(ordered.values_list("number", "timestamp")[span.skip : span.skip + span.maximum])


def tips(chain: EvmChain, heights: Iterable[int]) -> dict[int, int]:
    """Return the tips that transactions of some blocks paid to the coinbase, in wei.

    Only receipts of these blocks are read, even if the blocks are far apart.

    Raises:
        ListTooLong: The blocks have more than `MAX_PAYING` transactions.
    """
    sums = dict.fromkeys(heights, 0)
    blocks = chain.db.objects(models.Block).filter(number__in=list(sums), transaction_count__gt=0)
    fees = {}
    left = MAX_PAYING
    for number, base_fee, count in blocks.values_list("number", "base_fee", "transaction_count"):
        fees[number] = base_fee or 0
        left -= count
    if left < 0:
        raise ListTooLong
    paying = sorted(fees)
    for start in range(0, len(paying), _AT_ONCE):
        part = (
            Q(transaction_id__gte=row_id(number), transaction_id__lt=row_id(number + 1))
            for number in paying[start : start + _AT_ONCE]
        )
        rows = chain.db.objects(models.Receipt).filter(reduce(or_, part)).order_by()
        columns = rows.values_list("transaction_id", "gas_used", "effective_gas_price")
        for key, gas_used, price in columns.iterator():
            number = height_of(key)
            sums[number] += gas_used * (price - fees[number])
    return sums


MAX_ROWS: Final = 100_000
"""Limit of accounts, or of blocks, that are summed for one answer."""


class TooManyRows(Exception):
    """There are more rows than are summed for one answer."""


class PartialState(Exception):
    """The chain is a fork: it has only the accounts that were read or changed, and only its own blocks."""


def total_supply(chain: EvmChain) -> int:
    """Return the sum of all balances at the head, in wei.

    Raises:
        PartialState: The chain is a fork.
        TooManyRows: There are more than `MAX_ROWS` accounts.
    """
    if chain.fork is not None:
        raise PartialState
    rows = chain.db.objects(models.Account).order_by("address")
    balances = list(rows.values_list("balance", flat=True)[: MAX_ROWS + 1])
    if len(balances) > MAX_ROWS:
        raise TooManyRows
    return sum(balances)


def burnt_fees(chain: EvmChain) -> int:
    """Return the base fees that transactions have paid, in wei. Raises as `total`, with a limit of blocks."""
    if chain.fork is not None:
        raise PartialState
    rows = chain.db.objects(models.Block).filter(gas_used__gt=0, base_fee__isnull=False)
    blocks = list(rows.order_by("number").values_list("gas_used", "base_fee")[: MAX_ROWS + 1])
    if len(blocks) > MAX_ROWS:
        raise TooManyRows
    return sum(gas * (base_fee or 0) for gas, base_fee in blocks)
