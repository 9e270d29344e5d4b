"""Base fees, utilisation and tips of the latest blocks."""

from itertools import groupby
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.feemarket import BlockFees, PaidGas, rewards_at
from cchain_app.models import Receipt
from cchain_app.selectors import blocks
from chaindb.fields import height_of, row_id
from primitives.evm import ZERO_ADDRESS

CHARTED: Final = 200
"""Number of blocks on the page."""
MAX_RECEIPTS: Final = 5_000
"""Limit of the transactions whose tips are read; the tips of earlier blocks are not shown."""
PERCENTILES: Final = (10.0, 50.0, 90.0)


class FeesOfBlock(NamedTuple):
    """The fees of a block."""

    fees: BlockFees
    tips: tuple[int, ...] | None
    """Wei per gas at each of `PERCENTILES` of the block's gas; None if the block has no transactions or was not read."""

    @property
    def utilisation(self) -> float:
        """The share of the gas limit that was used, from 0 to 1."""
        return self.fees.gas_used / max(self.fees.gas_limit, 1)

    @property
    def burned(self) -> int:
        """The base fees that were paid, in wei."""
        return self.fees.gas_used * (self.fees.base_fee or 0)


def latest_fees(chain: EvmChain) -> list[FeesOfBlock]:
    """Return the fees of the latest blocks, oldest first."""
    head = blocks.head(chain).number
    first = max(head - CHARTED + 1, chain.first_number)
    found = blocks.fees_without_tips(chain, first, head)
    base_fees = {block.number: block.base_fee or 0 for block in found}
    paid = _paid(chain, first, base_fees)
    return [
        FeesOfBlock(
            block,
            rewards_at(block._replace(paid=paid[block.number]), PERCENTILES)
            if block.number in paid
            else None,
        )
        for block in found
    ]


def _paid(chain: EvmChain, first: int, base_fees: dict[int, int]) -> dict[int, tuple[PaidGas, ...]]:
    """Return the tips of the transactions by block, of blocks that were read to their first transaction."""
    rows = chain.db.objects(Receipt).filter(
        transaction_id__gte=row_id(first), transaction_id__lt=row_id(max(base_fees, default=0) + 1)
    )
    columns = rows.values_list("transaction_id", "gas_used", "effective_gas_price")
    found = list(columns.order_by("-transaction_id")[: MAX_RECEIPTS + 1])
    by_block = {
        number: tuple(
            # The percentiles do not depend on the sender.
            PaidGas(sender=ZERO_ADDRESS, tip=price - base_fees[number], gas_used=gas_used)
            for _, gas_used, price in receipts
        )
        for number, receipts in groupby(found, key=lambda row: height_of(row[0]))
        if number in base_fees
    }
    if len(found) > MAX_RECEIPTS:
        by_block.pop(height_of(found[-1][0]), None)
    return by_block
