"""Wakes the block producer. Knows its task by name only, so that there is no circle of imports."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks


def request_block(chain: EvmChain) -> None:
    """Ask for a block, where blocks are made on a transaction's arrival.

    In the transaction that stores what is to be put into it, or after it.
    """
    if chain.node.mining == "auto":
        chain.producer.request()


def is_due(chain: EvmChain, now: int) -> bool:
    """Say whether the clock (Unix seconds) brings a block in interval mode, at a tick.

    A node that makes all blocks is ticked once an interval. Where several take turns each is ticked every
    second, and the interval is the network's: it begins with the last block, whoever made that.
    """
    node = chain.node
    if not node.takes_turns:
        return True
    return now >= blocks.catch_up(chain).header.timestamp + node.block_interval


def answer_request(chain: EvmChain) -> None:
    """Note that a worker looks at the pool from now on: what comes later must ask again."""
    chain.producer.answer()
