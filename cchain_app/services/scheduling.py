"""Wakes the block producer. Knows its task by name only, so that there is no circle of imports."""

from cchain_app.chain import EvmChain


def request_block(chain: EvmChain) -> None:
    """Ask for a block, where blocks are made on a transaction's arrival.

    In the transaction that stores what is to be put into it, or after it.
    """
    if chain.node.mining == "auto":
        chain.producer.request()


def answer_request(chain: EvmChain) -> None:
    """Note that a worker looks at the pool from now on: what comes later must ask again."""
    chain.producer.answer()
