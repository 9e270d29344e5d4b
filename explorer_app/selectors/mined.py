"""Blocks by miner, and the tips that their transactions paid."""

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
