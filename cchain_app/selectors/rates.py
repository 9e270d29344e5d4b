"""The C-Chain's transactions, gas and blocks per minute."""

from typing import NamedTuple

from cchain_app.chain import EvmChain
from chaindb.minutes import Blocks, per_minute

_BLOCKS = Blocks("cchain_app_block", "number", "timestamp", ("transaction_count", "gas_used"))


class EvmMinute(NamedTuple):
    """Totals of the blocks of a minute."""

    blocks: int
    transactions: int
    gas_used: int


def minutes(chain: EvmChain, now: int) -> list[EvmMinute]:
    """Return the last minutes up to `now` (Unix seconds), the oldest first, as far as `per_minute` has them."""
    return [EvmMinute(*sums) for sums in per_minute(chain.db, _BLOCKS, now)]
