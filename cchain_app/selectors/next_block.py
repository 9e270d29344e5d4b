"""What is known of the block after the head before it is made: its fork and its base fee."""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.config import at_least
from cchain_app.feemarket import next_base_fee


def fork_after(chain: EvmChain, head: AcceptedBlock, now: int) -> str:
    """Return the rule set of the block after `head` when it is made now (Unix seconds)."""
    return chain.config.fork_at(head.number + 1, max(head.header.timestamp, now))


def base_fee_after(chain: EvmChain, head: AcceptedBlock) -> int | None:
    """Return the base fee of the block after `head`, in wei; None before London."""
    header = head.header
    if header.base_fee is None and not at_least(
        fork_after(chain, head, header.timestamp), "london"
    ):
        return None
    floor = chain.config.min_base_fee
    return next_base_fee(header.base_fee, header.gas_used, header.gas_limit, floor)
