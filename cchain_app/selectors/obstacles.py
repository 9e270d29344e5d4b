"""Why no block can follow the head of a chain: its fees have no room in a header, or no installed engine reads them."""

from typing import Final

from cchain_app.blocks.errors import BlockRefused
from cchain_app.chain import EvmChain
from cchain_app.evm.installed import missing_engine
from cchain_app.selectors import blocks

STOPPED: Final = "no block can follow block {number}: {reason}"


def obstacle(chain: EvmChain, now: int) -> str:
    """Return why no block can follow the head of a chain of a subnet; empty if one can.

    It reads at most the state of the chain's fee manager and reward manager.

    Unspecified: chains of the primary network have no managers, so they return an empty text.

    Args:
        chain: The chain; it has its block 0.
        now: The time of the block, in Unix seconds.

    Raises:
        DatabaseError: The chain's rows cannot be read.
    """
    if not chain.is_of_subnet:
        return ""
    head = blocks.head(chain)
    try:
        env = chain.rules.env_after(head, max(now, head.header.timestamp))
    except BlockRefused as refusal:
        reason = str(refusal)
    else:
        reason = missing_engine(env)
    return STOPPED.format(number=head.number, reason=reason) if reason else ""
