"""Base fees, utilisation and tips of the latest blocks."""

from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.feemarket import BlockFees, rewards_at
from cchain_app.selectors import blocks

CHARTED: Final = 200
"""Number of blocks on the page."""
PERCENTILES: Final = (10.0, 50.0, 90.0)


class FeesOfBlock(NamedTuple):
    """The fees of a block."""

    fees: BlockFees
    tips: tuple[int, ...] | None
    """Wei per gas at each of `PERCENTILES` of the block's gas; None if the block has no transactions."""

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
    return [
        FeesOfBlock(fees.block, rewards_at(fees.block, PERCENTILES) if fees.block.tips else None)
        for fees in blocks.stored_fees(chain, first, head)
    ]
